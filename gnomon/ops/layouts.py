"""Layouts over a mesh: `from_local` and `to_local` at a program's ends, `place` within it.

A program over a mesh is written in terms of whole values. `from_local` and `to_local` mark where it
takes a rank's own part from outside and returns one, and in which layout; `place` sets the layout
in between. The shard pass implements them. A layout is a tuple of (mesh axis, its ranks, the
placement along it).
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from gnomon.dtypes import DType
from gnomon.errors import LayoutError
from gnomon.ir.memo import memo
from gnomon.ir.node import NUMBER, Graph, Node, Primitive, Shape, Signature, primitive
from gnomon.ir.operators import elementwise
from gnomon.ops.canonical import ROWS, leaves
from gnomon.ops.placements import REPLICATED, Partial, Placement, Split, placement_of
from gnomon.ops.primitives import letters

__all__ = [
    "LAYOUTS",
    "MICROBATCHES",
    "MeshLayout",
    "OwnRows",
    "Unit",
    "axes_of",
    "from_local",
    "has_layouts",
    "in_leaves",
    "is_constant",
    "is_microbatches",
    "names_layouts",
    "note_axes",
    "note_constant",
    "own_share",
    "place",
    "reduced",
    "rows_of",
    "splits",
    "to_local",
]

MeshLayout = tuple[tuple[str, int, Placement], ...]
"""The placement along each mesh axis, as (mesh axis, its ranks, placement), outermost first."""
LAYOUTS = frozenset({"from_local", "place", "to_local"})
MICROBATCHES = "microbatches"
"""The prefix of names of mesh axes whose ranks are microbatches."""


T = TypeVar("T")


class Boundary(Primitive):
    """Base of FromLocal and ToLocal: the same elements, of which one side has a rank's part."""

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        own = [names[axis] for *_, axis in splits(node.params["layout"])]
        return Signature([names], names, whole=own)

    def value(self, node: Node, *inputs: Any) -> Any:
        raise AssertionError(f"{self.name}: one rank alone has no value for it")


def is_microbatches(mesh: str) -> bool:
    """Whether the ranks of a mesh axis are microbatches."""
    return mesh.startswith(MICROBATCHES)


@primitive("from_local")
class FromLocal(Boundary):
    """The whole value of which x is this rank's part.

    Along mesh axes of `keeps` it is used without being gathered, if possible; parameters of one
    `unit` are gathered together.
    """

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,), shape = inputs, list(inputs[0].shape)
        for _, ranks, axis in splits(params["layout"]):
            shape[axis] *= ranks
        return tuple(shape), x.dtype

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        own, shares = to_local(g, reduced(node.params["layout"])), node.params.get("shares", 1)
        return (own if shares == 1 else elementwise("mul", own, float(shares)),)


@primitive("to_local")
class ToLocal(Boundary):
    """The part of a whole value x that is this rank's."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,) = inputs
        return divided(x.shape, params["layout"], "to_local"), x.dtype

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        if "share" in node.params:
            raise LayoutError(
                "fully_shard: a rank's own gradient of a plain tensor in the module has no "
                "gradient itself. Let fully_shard take the parameter, or use it outside."
            )
        back, shares = node.params.get("back"), node.params.get("shares", 1)
        g = g if shares == 1 else elementwise("div", g, float(shares))
        if back is not None:
            return (from_local(g, back),)
        layout = reduced(node.params["layout"])
        # each rank's own gradient of what all have: nobody said that these are alike
        own = tuple(name for name, _, placement in layout if placement == REPLICATED)
        made, rows = from_local(g, layout, varies=own), node.params.get("rows", NO_ROWS)
        return (own_rows(made, layout, rows._replace(gradient=True)),)


@primitive("place")
class Place(Primitive):
    """Give x a layout; along mesh axes that it does not name, x keeps its own.

    Where possible, a value with `stays` is used in its layout and moves to no other rank. Its
    gradient has the layout `back`, or else the one it has.
    """

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        (x,) = inputs
        found = splits(params["layout"])
        if found and not params["stays"]:  # rows may be shared unequally
            divided(x.shape, params["layout"], "place")
        return x.shape, x.dtype

    def signature(self, node: Node) -> Signature:
        names = letters(node.rank)
        return Signature([names], names)

    def value(self, node: Node, *inputs: Any) -> Any:
        return inputs[0]

    def gradient(self, node: Node, g: Node, needed: tuple[bool, ...]) -> tuple[Node | None, ...]:
        back, pins = node.params.get("back"), "pins" in node.params
        layout = node.params["layout"]
        return (g if back is None else place(g, back, back=layout, pins=pins),)


def divided(shape: Shape, layout: MeshLayout, name: str) -> Shape:
    """The shape of one rank's part; raises LayoutError if ranks do not divide an axis."""
    sizes = list(shape)
    for mesh, ranks, axis in splits(layout):
        if axis >= len(sizes) or sizes[axis] % ranks:
            raise LayoutError(
                f"{name}: {ranks} ranks of mesh axis {mesh!r} do not divide axis {axis} of "
                f"{shape}. Split another axis."
            )
        sizes[axis] //= ranks
    return tuple(sizes)


def splits(layout: MeshLayout) -> list[tuple[str, int, int]]:
    """The mesh axes that split a value: name, ranks, and the axis that is split."""
    found = ((mesh, n, placement_of(each)) for mesh, n, each in layout)
    return [(mesh, n, each.axis) for mesh, n, each in found if isinstance(each, Split)]


def reduced(layout: MeshLayout) -> MeshLayout:
    """A layout with pending sums replaced by replicated values."""
    return tuple(
        (mesh, n, REPLICATED if isinstance(each, Partial) else each) for mesh, n, each in layout
    )


class Unit(NamedTuple):
    """A unit of a plan: parameters that are gathered, and whose gradients are reduced, together."""

    number: int
    reductions: int | str = 0
    """The most reductions that run when one of these begins; 0: any number; "auto"."""


ALONE = Unit(-1)
"""The unit of values that belong to none."""


class OwnRows(NamedTuple):
    """Mesh axes along which parts are ranks' own rows, which stay on their rank."""

    axes: tuple[str, ...] = ()
    gradient: bool = False
    """Whether these are rows of a gradient, whose sums may have any number of rows."""
    given: bool = True
    """Whether each rank gave its own rows; else they are rows of a batch that all ranks have."""


NO_ROWS = OwnRows()


def from_local(
    x: Node,
    layout: MeshLayout,
    keeps: tuple[str, ...] = (),
    unit: Unit = ALONE,
    rows: OwnRows = NO_ROWS,
    varies: tuple[str, ...] = (),
    shares: int = 1,
) -> Node:
    """The whole value of which x is this rank's part in a layout.

    keeps: mesh axes along which it is a weight that is used without being gathered. rows: mesh axes
    along which its parts are rows that stay in place, if any. varies: mesh axes along which each
    rank has a value of its own, which counts as replicated. shares: the number of ranks' means that
    the differentiated value averages; the gradient returned is that of one of them.
    """
    if not layout:
        return x
    own: dict[str, Any] = {"varies": varies} if varies else {}
    own |= {"shares": shares} if shares > 1 else {}
    whole = x.arena.node("from_local", (x,), layout=layout, keeps=keeps, unit=unit, **own)
    return own_rows(whole, layout, rows)


def own_rows(x: Node, layout: MeshLayout, rows: OwnRows) -> Node:
    """A whole value whose parts along some mesh axes are ranks' own rows, and stay there.

    Each rank folds its own rows, whatever leaves they have.
    """
    own = tuple(each for each in layout if each[0] in rows.axes and isinstance(each[2], Split))
    params: dict[str, Any] = {"layout": own, "stays": True}
    params |= {"own": True} if rows.given else {}
    params |= {"gradient": True} if rows.gradient else {}
    return x.arena.node("place", (x,), **params) if own else x


def to_local(
    x: Node,
    layout: MeshLayout,
    unit: Unit = ALONE,
    back: MeshLayout | None = None,
    shares: int = 1,
    rows: OwnRows = NO_ROWS,
) -> Node:
    """The part of a whole value that is this rank's; sums of one unit are sent together.

    back: the layout of its gradient, if not the value's. shares: the number of means, each over one
    rank's rows, whose gradients are averaged. rows: mesh axes along which the parts of its gradient
    are rows that stay in place.
    """
    whole = x.inputs[0] if x.op == "place" and x.params["stays"] else x
    other = {} if back is None and shares == 1 else {"back": back, "shares": shares}
    if whole.op == "from_local" and whole.params["layout"] == layout and not other:
        return whole.inputs[0]
    other |= {"rows": rows} if rows.axes else {}
    return x.arena.node("to_local", (x,), layout=layout, unit=unit, **other) if layout else x


def own_share(x: Node, layout: MeshLayout) -> Node:
    """The gradient of a rank's own mean, of a gradient of the mean of all ranks' own means.

    A sum over ranks' own rows becomes the number of ranks times the part of this rank's rows; a
    value computed from replicated values stays the same.
    """
    return x.arena.node("to_local", (x,), layout=layout, unit=ALONE, share=True)


def in_leaves(x: Node, ranks: int, placement: Placement) -> bool:
    """Whether ranks divide the rows of an axis into equally many whole leaves."""
    return isinstance(placement, Split) and leaves(x.shape[placement.axis], ROWS) % ranks == 0


NOWHERE: frozenset[str] = frozenset()
_axes: WeakKeyDictionary[Node, frozenset[str]] = memo(WeakKeyDictionary())
_rows: WeakKeyDictionary[Node, frozenset[str]] = memo(WeakKeyDictionary())
_constant: WeakKeyDictionary[Node, bool] = memo(WeakKeyDictionary())


def axes_of(node: Node) -> frozenset[str]:
    """The mesh axes along which a node is a whole value of which each rank has a part."""
    return derived(node, _axes, own_axes)


def note_axes(leaf: Node, like: Node) -> None:
    """Record the mesh axes of a leaf that represents another value."""
    _axes[leaf], _rows[leaf] = axes_of(like), rows_of(like)


def rows_of(node: Node) -> frozenset[str]:
    """The mesh axes along which a value consists of ranks' own rows."""
    return derived(node, _rows, own_rows_of)


def own_rows_of(node: Node, inputs: Sequence[frozenset[str]]) -> frozenset[str]:
    """The mesh axes of ranks' own rows, given those of each input."""
    if is_known(node):
        return NOWHERE
    if names_layouts(node):
        body: Graph = node.params["body"]
        index: int = node.params["index"]
        inside = dict(zip(body.inputs, inputs, strict=True))
        return derived(body.outputs[index], inside, own_rows_of)
    read = NOWHERE.union(*inputs)
    named = {name for name, _, _ in node.params["layout"]} if node.op in LAYOUTS else NOWHERE
    if node.op == "to_local":
        return read - named
    return read | named if "own" in node.params else read


@memo
@cache
def has_layouts(body: Graph) -> bool:
    """Whether a layout is named inside of a region."""
    return any(x.op in LAYOUTS or names_layouts(x) for x in body)


def names_layouts(node: Node) -> bool:
    """Whether a node is a region inside of which a layout is named."""
    return node.op == "region" and has_layouts(node.params["body"])


def is_constant(node: Node) -> bool:
    """Whether a value is computed from constants alone, so that all ranks have the same.

    This does not depend on whether its value is known: a rank that prints a constant, or stops to
    hold a value, must run the same programs as the others.
    """
    stack = [node]
    while stack:
        x = stack[-1]
        if x in _constant:
            stack.pop()
        elif x.op == "input" or x.op in LAYOUTS or x.watch:  # whoever watches may train it
            _constant[x] = x.params.get("name") == NUMBER
        else:
            found = [_constant.get(y) for y in x.inputs]
            if None in found and False not in found:
                stack.append(x.inputs[found.index(None)])
            else:
                _constant[x] = False not in found
    return _constant[node]


def note_constant(leaf: Node, like: Node) -> None:
    """Record that a leaf which represents another value is constant, if that value is."""
    if is_constant(like):
        _constant[leaf] = True


def derived(node: Node, found: MutableMapping[Node, T], own: Callable[[Node, Sequence[T]], T]) -> T:
    """A fact of a node that follows from those of its inputs; `found` caches it.

    Facts that a node states itself are known without its inputs.
    """
    stack = [] if node in found else [node]
    while stack:
        x = stack[-1]
        waiting = [] if x in found or is_known(x) else [y for y in x.inputs if y not in found]
        stack.extend(waiting)
        if not waiting:
            found[stack.pop()] = own(x, [] if is_known(x) else [found[y] for y in x.inputs])
    return found[node]


def is_known(node: Node) -> bool:
    """Whether a value is an input or computed already, so that each rank has it by itself."""
    return node.op not in LAYOUTS and (node.op == "input" or node.value is not None)


def own_axes(node: Node, inputs: Sequence[frozenset[str]]) -> frozenset[str]:
    """The mesh axes of a node, given those of its inputs."""
    if is_known(node):
        return NOWHERE
    read = NOWHERE.union(*inputs)
    if node.op not in LAYOUTS:
        return read
    layout = node.params["layout"]
    if node.op == "place":  # rows that ranks share unequally are no parts
        own = node.params.get("own", False)
        kept = (each for each in layout if own or each[2] == REPLICATED)
        layout = [*kept, *(each for each in layout if in_leaves(node, *each[1:]))]
    named = {name for name, _, _ in layout}
    return read - named if node.op == "to_local" else read | named


def place(
    x: Node,
    layout: MeshLayout,
    stays: bool = False,
    back: MeshLayout | None = None,
    pins: bool = False,
    only: Literal["", "varying", "split"] = "",
) -> Node:
    """Give x a layout.

    back: the layout of its gradient; None leaves it open. pins: exactly this layout, without
    comparing between ranks. only: restricts it to values that vary, or are split; others stay
    unchanged.
    """
    other: dict[str, Any] = {} if back is None else {"back": back}
    other |= {"pins": True} if pins else {}
    other |= {"only": only} if only else {}
    return x.arena.node("place", (x,), layout=layout, stays=stays, **other) if layout else x
