"""Tensors that lie over ranks: a storage holds this rank's part, and its view is the whole value.

`from_local` is the first step of such a view, so that views, writes, gradients and captures are
those of every other tensor: what reads it reads the whole value, what writes to it leaves this
rank's part in the storage. Programs are divided where they read it (gnomon/passes/divide.py). What
an operation gives has the layout it ends in; ranks that must meet for it meet at its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any

from gnomon.ir.between import nodes_between
from gnomon.ir.node import NUMBER, Arena, Graph, Node
from gnomon.lazy import leaving
from gnomon.ops.layouts import (
    ALONE,
    NO_ROWS,
    MeshLayout,
    OwnRows,
    Unit,
    axes_of,
    is_constant,
    place,
    to_local,
)
from gnomon.ops.placements import REPLICATED, Partial
from gnomon.runtime.comm import here
from gnomon.settings import holding
from gnomon.tensor.borrowing import is_known, is_lent, numbered, waits_for_ranks
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import is_capturing, is_eager, meets_later, mesh_results
from gnomon.tensor.tensor import Paired, Tensor, alias, node_of, pair_of, raw, wrap
from gnomon.tensor.views import BOUNDARIES, full_chain, mesh_layout_of

__all__ = [
    "in_unit",
    "layout_of",
    "local_of",
    "meet",
    "meeting",
    "over_pairs",
    "own_rows",
    "part_of",
    "pinned",
    "sharded_like",
    "shows_others",
    "spread",
    "unit_of",
    "value_layout",
    "varying_along",
    "whole_of",
]


def over_pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator that makes a function of layouts accept complex tensors, as real pairs.

    Axes of layouts are counted from the first, so that they are those of the complex tensor.
    """

    @wraps(function)
    def run(tensor: Tensor, *arguments: Any, **named: Any) -> Any:
        if not isinstance(tensor, Paired):
            return function(tensor, *arguments, **named)
        made = function(pair_of(tensor), *arguments, **named)
        return tensor.plain((made,)) if isinstance(made, Tensor) else made

    return run


own_rows: ContextVar[tuple[str, ...]] = ContextVar("own_rows", default=())
"""Mesh axes whose ranks each gave rows of their own to the fully sharded module that runs."""


@over_pairs
def spread(
    local: Tensor,
    layout: MeshLayout,
    keeps: tuple[str, ...] = (),
    unit: Unit = ALONE,
    rows: OwnRows = NO_ROWS,
    varies: tuple[str, ...] = (),
    shares: int = 1,
) -> Tensor:
    """The global tensor of which `local` is this rank's part; they share memory.

    keeps: mesh axes along which programs use it sharded, and do not gather it. unit: parameters of
    one unit are gathered together. rows: mesh axes along which its parts are rows of a batch, which
    stay where they are. varies: mesh axes along which each rank has a value of its own, treated as
    replicated. shares: its gradient is that of one of so many averaged values.
    """
    if not layout:
        return local
    if not mesh_results:
        mesh_results.append(result_over_ranks)
    params = {"layout": layout, "keeps": keeps, "unit": unit, "rows": rows, "varies": varies}
    params |= {"shares": shares} if shares > 1 else {}
    return alias(local, (("from_local", params),))


@over_pairs
def layout_of(tensor: Tensor) -> MeshLayout:
    """The layout of a tensor's storage; empty for a plain tensor."""
    chain = full_chain(tensor)
    return chain[0][1]["layout"] if [op for op, _ in chain] == ["from_local"] else ()


def value_layout(tensor: Tensor) -> MeshLayout:
    """The layout of a tensor's value, also of a view or within a capture."""
    tensor = pair_of(tensor)
    found = mesh_layout_of(tensor._view)
    if not found and not is_capturing():
        return ()
    if found and all(op in BOUNDARIES for op, _ in full_chain(tensor)):
        return tuple(sorted(found, key=lambda each: in_order(each[0])))
    node = raw(tensor)
    return result_layout(node).layout if axes_of(node) else ()


@over_pairs
def varying_along(tensor: Tensor) -> tuple[str, ...]:
    """The mesh axes along which ranks have different values, treated as replicated."""
    chain = full_chain(tensor)
    if [op for op, _ in chain] == ["from_local"]:
        return chain[0][1].get("varies", ())
    node = raw(tensor)
    return result_layout(node).varies if axes_of(node) else ()


def in_order(name: str) -> int:
    """The position of a mesh axis among those of this rank, outermost first."""
    known = list(here.links())
    return known.index(name) if name in known else len(known)


@over_pairs
def local_of(tensor: Tensor) -> Tensor:
    """The part that this rank holds of a sharded tensor, as the same memory."""
    storage = tensor._storage
    made = Tensor.__new__(Tensor)
    made._storage, made._view, made._rare, made._requires = storage, None, None, False
    return made


@over_pairs
def part_of(
    tensor: Tensor,
    along: Sequence[str] | None = None,
    back: MeshLayout | None = None,
    shares: int = 1,
    rows: OwnRows = NO_ROWS,
) -> Tensor:
    """A rank's part along some mesh axes, as a view.

    back, shares: its gradient gets this layout, as one of so many that are averaged. rows: mesh
    axes along which parts of its gradient are rows that stay where they are.
    """
    layout = tuple(each for each in value_layout(tensor) if along is None or each[0] in along)
    step = {"layout": layout, "back": back, "shares": shares, "rows": rows}
    return alias(tensor, (("to_local", step),)) if layout else tensor


@over_pairs
def whole_of(tensor: Tensor) -> Tensor:
    """The global value of a sharded tensor, gathered on each rank; all ranks call it."""
    everywhere = tuple((name, n, REPLICATED) for name, n, _ in value_layout(tensor))
    made = wrap(to_local(pinned(tensor), everywhere), tensor.requires_grad)
    meet([made])
    return made


def pinned(tensor: Tensor) -> Node:
    """A tensor's node with a gradient of the tensor's layout, which captures need."""
    node = node_of(tensor)
    layout = tuple(each for each in value_layout(tensor) if not isinstance(each[2], Partial))
    return node if not is_capturing() else place(node, layout, back=layout, pins=True)


@over_pairs
def unit_of(tensor: Tensor) -> Unit:
    """The unit of a sharded tensor, whose members are gathered together."""
    return full_chain(tensor)[0][1]["unit"] if layout_of(tensor) else ALONE


@over_pairs
def in_unit(tensor: Tensor, unit: Unit) -> Tensor:
    """Assign a sharded tensor to a unit; a plain tensor is unchanged."""
    if not layout_of(tensor):
        return tensor
    params = full_chain(tensor)[0][1]
    return alias(local_of(tensor), (("from_local", {**params, "unit": unit}),))


def sharded(
    node: Node,
    layout: MeshLayout,
    tracked: bool = False,
    unit: Unit = ALONE,
    rows: OwnRows = NO_ROWS,
    varies: tuple[str, ...] = (),
) -> Tensor:
    """A new sharded tensor of a node's value, of which this rank has its part."""
    part = wrap(to_local(node, layout, unit, rows=rows), tracked)
    return spread(part, layout, rows=rows, varies=varies)


def sharded_like(node: Node, tensor: Tensor, tracked: bool = False) -> Tensor:
    """Shard a node's value like another tensor of its shape, and in its unit."""
    return sharded(node, layout_of(tensor), tracked, unit_of(tensor))


# results


def result_over_ranks(node: Node, tracked: bool) -> Tensor:
    """The tensor of a node computed from tensors that may be sharded, in the resulting layout."""
    later, eager = meets_later.get(), is_eager()
    if not eager or not axes_of(node):
        made = wrap(node, tracked, whole=True)
        if eager and later is not None and waits_for_ranks(node):
            later.append(made)
        return made
    found = result_layout(node)
    made = sharded(node, found.layout, tracked, rows=found.rows, varies=found.varies)
    if later is None and (found.meets or reads_lent(node)):
        evaluate([made._storage.node])
    return made


def result_layout(node: Node) -> leaving.Leaving:
    """The layout of a value computed from sharded ones."""
    return leaving.leaving(sharded_program(node), axes_of(node), tuple(here.links()))


def sharded_program(node: Node) -> Graph:
    """The program that computes a value from sharded parts."""
    arena, cuts, stack = Arena(), {}, [node]
    seen: set[Node] = set()
    while stack:
        x = stack.pop()
        constant = x not in seen and is_constant(x)
        if x not in seen and (axes_of(x) or (constant and not is_known(x, ()))):
            stack.extend(reversed(x.inputs))
        elif x not in seen:
            cuts[x] = arena.input(x.shape, x.dtype, NUMBER * constant)
        seen.add(x)
    known = dict(cuts)
    for x in nodes_between([node], known):
        known[x] = arena.with_inputs(x, tuple(known[y] for y in x.inputs))
    return Graph(list(cuts.values()), [known[node]])


def reads_lent(node: Node) -> bool:
    """Whether a sharded value reads lent memory."""
    return any(is_lent(x) for x in numbered([node], lambda x: x.value is not None))


class meeting(holding[list[Tensor] | None]):
    """A context whose listed results are computed together at its end, by collectives.

    After an exception nothing is computed: other ranks may not have raised it, and would wait for
    another program's messages.
    """

    def __init__(self) -> None:
        super().__init__(meets_later, [])

    def __exit__(self, *raised: object) -> None:
        self.variable.set(self.before[0])  # at once: an interrupt at a call would leave it set
        self.before = self.before[1]
        if self.value and raised[0] is None:
            meet(self.value)


def meet(tensors: Iterable[Tensor]) -> None:
    """Compute pending tensors that need collectives, at a call that all ranks make."""
    if is_eager():
        nodes = dict.fromkeys(pair_of(x)._storage.node for x in tensors)
        evaluate([x for x in nodes if x.value is None])


@over_pairs
def shows_others(tensor: Tensor) -> bool:
    """Whether a tensor is a view that needs collectives: of rows or sums of other ranks."""
    if not is_eager() or layout_of(tensor):
        return False
    node = raw(tensor)
    return bool(axes_of(node)) and result_layout(node).meets
