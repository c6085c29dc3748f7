"""Views of a storage: how a chain of view steps is read, and how a write goes back through it.

A step is a view primitive and its parameters; users' views are found by walking from an
operation's result back to what it was given, so no operation says that it is a view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, ref

from gnomon.dtypes import DType, bool_, int64
from gnomon.errors import ArgumentError, GradientError, LayoutError
from gnomon.ir.memo import Recent, kind_of, memo
from gnomon.ir.node import Node, pattern_of
from gnomon.ir.operators import constant
from gnomon.lazy import encodings
from gnomon.ops.indexing import index_copy
from gnomon.ops.layouts import MeshLayout, from_local, to_local
from gnomon.ops.placements import REPLICATED, Partial
from gnomon.ops.primitives import expand, flip, reshape
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import STEPS, pad, permute
from gnomon.tensor.borrowing import afresh, borrows, is_lent, shows_stretch
from gnomon.tensor.state import grads, is_capturing, leaf, state
from gnomon.tensor.watchers import attach, retained, unshared_copy

if TYPE_CHECKING:
    from gnomon.tensor.state import Storage
    from gnomon.tensor.tensor import Tensor

LOST = (
    "write: values that gradients pass were written to a detached tensor, which keeps no history "
    "beside that of its memory. Write to a clone(), or write detach() of the values."
)
ViewStep = tuple[str, dict]
Chain = tuple[ViewStep, ...]
REPEATS = frozenset({"expand", "window"})
"""Steps that show an element in several places."""
BOUNDARIES = {"from_local": from_local, "to_local": to_local}
"""Steps between a rank's part and the whole value."""
DECODING = "decode"
"""The step from a storage of encoded blocks to the numbers that these mean."""


Shown = tuple[list[Chain], list[list[Node]], type | None]
"""The chains of views, a node like each of their steps, and what holds several."""
known: Recent[tuple, Shown] = memo(Recent())
"""Views by what they were asked of: most programs ask for few, again and again."""


def key_of(value: Any) -> Any:
    """An argument as part of a key, numbers with their types; TypeError if it is not hashable."""
    kind = type(value)
    if kind is int or kind is str or value is None or value is Ellipsis:
        return value
    if kind is tuple or kind is list:
        return (kind, *[key_of(each) for each in value])
    if kind is slice:
        return (slice, key_of(value.start), key_of(value.stop), key_of(value.step))
    if kind in (bool, float, DType):
        return (kind, value)
    raise TypeError(f"{kind.__name__} is no key")


class View:
    """A view of a storage: a chain of steps from the base tensor's value."""

    __slots__ = (
        *("__weakref__", "base", "chain", "detached", "home", "lost", "node", "own"),
        *("parent", "source", "unchecked", "used", "version"),
    )

    def __init__(
        self, chain: Chain, base: Tensor | None, detached: bool, lost: bool = False
    ) -> None:
        self.chain, self.base, self.detached = chain, base, detached
        self.lost = lost
        """Whether values were written whose history would be this view's alone: none is kept."""
        self.home: ref[Tensor] | None = None
        """The tensor of which it is a view by PyTorch's count, to which detach() is none."""
        self.source: Node | None = None
        self.node: Node | None = None
        self.parent: View | None = None
        """The view of which it shows a part."""
        self.own: tuple[Node, Node] | None = None
        """A storage's node, and what this view shows of it, if that is watched."""
        self.unchecked = False
        """Whether it is `data`, by which a value that gradients read may be written over."""
        self.used = False
        """Whether something was computed from it, or shows part of it."""
        self.version = 0
        """The storage's when it was last read."""


def note_cut(storage: Storage, view: View) -> None:
    """Record the view of a detached tensor whose storage has a history."""
    if storage.cut is None:
        storage.cut = WeakSet()
    storage.cut.add(view)


def mesh_layout_of(view: View | None) -> MeshLayout:
    """The layout of a view's storage, along mesh axes on which the view is replicated."""
    if view is None:
        return ()
    found = mesh_layout_of(None if view.base is None else view.base._view)
    for op, params in view.chain:
        if op in BOUNDARIES:
            named = {name for name, _, _ in params["layout"]}
            found = tuple(each for each in found if each[0] not in named)
            found = (*found, *params["layout"]) if op == "from_local" else found
    return found


def lent_part(tensor: Tensor) -> Node | None:
    """A copy of a contiguous part of lent memory, without gradients."""
    view, whole = tensor._view, tensor._storage.node
    if view is None or not is_lent(whole) or view.source is not whole or is_capturing():
        return None
    shown, history = view.node, tensor._storage.tracked or whole.watch or whole.inputs
    if history or view.base is not None or tensor._requires or whole.arena is not state.arena:
        return None
    # what is no stretch of the memory was copied when it was read
    if shown is None or not shows_stretch(shown, whole) or not borrows(shown):
        return None
    check_kept(view)
    return leaf(shown.shape, shown.dtype, shown.value.copied())


def is_encoded(view: View | None) -> bool:
    """Whether a view is decoded from quantized blocks in its storage."""
    return view is not None and any(op == DECODING for op, _ in view.chain)


def refuse_encoded_leaf(view: View | None) -> None:
    """Refuse gradients of values decoded from quantized blocks."""
    if is_encoded(view):
        raise GradientError(
            "requires_grad: this tensor is stored in blocks of quantized numbers, which take no "
            "gradient. Use clone()."
        )


def is_shown_by_storage(view: View | None) -> bool:
    """Whether programs take the storage behind a view as input, instead of the view's value."""
    return bool(mesh_layout_of(view)) or is_encoded(view)


def refuse_parts(tensor: Tensor) -> None:
    """Refuse to read a value that is divided over ranks, on one of them."""
    if tensor._view is None:
        return
    if any(n > 1 and each != REPLICATED for _, n, each in mesh_layout_of(tensor._view)):
        raise LayoutError(
            f"value: a tensor {tuple(tensor.shape)} is sharded, and this rank holds a part of it. "
            "Take to_local(), or on all ranks full_tensor()."
        )


def check_kept(view: View | None) -> None:
    """Refuse to compute with values whose history was dropped but is needed."""
    if view is not None and view.lost and grads.get():
        raise GradientError(LOST)


LONGER: dict[str, tuple[str, Callable[[tuple], Any]]] = {
    "permute": ("order", len),
    "reshape": ("shape", lambda _: 2),
    "expand": ("shape", lambda _: 2),
    "slice": ("bounds", lambda _: (0, 2, 1)),
}
"""A step of a view -> the parameter that tells of each axis, and what it says of the last one."""


def full_chain(tensor: Tensor) -> Chain:
    """The view steps from the storage to the tensor."""
    view = tensor._view
    if view is None:
        return ()
    before = full_chain(view.base) if view.base is not None and view.base._view else ()
    return (*before, *view.chain)


def longer(chain: Chain, rank: int) -> Chain:
    """The view steps of a complex tensor, applied to its pair."""
    made: list[ViewStep] = []
    for op, params in chain:
        if op == "window":  # its own axis comes behind the parts, and goes before them
            made += [(op, params), ("permute", {"order": (*range(rank), rank + 1, rank)})]
            rank += 1
            continue
        word, last = LONGER[op]
        made.append((op, params | {word: (*params[word], last(params[word]))}))
        rank = len(params[word])
    return tuple(made)


def chain_between(result: Node, start: Node) -> Chain | None:
    """The view steps from start to result; None if other operations are in between."""
    steps = nodes_between(result, start)
    return None if steps is None else tuple([(node.op, node.params) for node in steps])


def nodes_between(result: Node, start: Node) -> list[Node] | None:
    """The nodes of the view steps from start to result; None if others are in between."""
    steps = []
    while result is not start:
        if result.op not in STEPS:
            return None
        steps.append(result)
        (result,) = result.inputs
    return steps[::-1]


def read(node: Node, chain: Chain) -> Node:
    """The node of a view of a storage's node."""
    for op, params in chain:
        function = encodings.decode_blocks if op == DECODING else BOUNDARIES.get(op)
        node = function(node, **params) if function else node.arena.node(op, (node,), **params)
    return node


def view_node(view: View, start: Node) -> Node:
    """The node of a view, through watched views in between."""
    above = view
    while above is not None:
        if above.own is not None and above.own[0] is start:
            return read(above.own[1], view.chain[len(above.chain) :])
        above = above.parent
    return read(afresh(start), view.chain)


def refresh_view(view: View, start: Node, version: int) -> Node:
    """The node of a view whose storage may have been written to since its last read.

    After a write the view depends on the storage alone, and its retained gradients are dropped.
    """
    if view.version != version:
        moved = [] if view.own is None else retained(view.own[1])
        view.version, view.used, view.parent, view.own = version, False, None, None
        if moved:
            node = unshared_copy(view_node(view, start))
            view.own = (start, node)
            for tensor in moved:
                attach(node, tensor)
    return view_node(view, start)


def as_shown(result: Any, start: Node) -> tuple[list[Node], Shown | None]:
    """The nodes of a result and the view steps to them, if all are views."""
    parts = [result] if isinstance(result, Node) else result
    chains = [chain_between(part, start) for part in parts]
    found = [chain for chain in chains if chain is not None]
    if len(found) < len(chains):
        return parts, None
    likes = [[*map(step_like, nodes_between(part, start) or ())] for part in parts]
    return parts, (found, likes, None if isinstance(result, Node) else type(result))


def step_like(node: Node) -> Node:
    """A template node of a view step."""
    return pattern_of(kind_of(node.op, node.params), node.op, node.params, node)


def followed(node: Node, likes: list[Node]) -> Node:
    """The node after known view steps; those of captures' sizes are never shared."""
    arena = node.arena
    for like in likes:
        if arena.shared and "serial" not in like.params:
            node = arena.repeat(like, (node,))
        else:
            node = arena.intern(like.kind, like.op, (node,), like.params)
    return node


def write(node: Node, chain: Chain, value: Node) -> Node:
    """The storage's node after a write of a value of the view's shape."""
    if not chain:
        return value
    if any(op == DECODING for op, _ in chain):
        raise ArgumentError(
            "write: this tensor is stored in blocks of quantized numbers, which take no values. "
            "Write to a clone() of it."
        )
    if not REPEATS.isdisjoint(op for op, _ in chain) and chain[0][0] not in BOUNDARIES:
        return put_places(node, chain, value)
    (op, params), rest = chain[0], chain[1:]
    inner = write(node.arena.node(op, (node,), **params), rest, value)
    return put_back(node, op, params, inner)


def put_back(old: Node, op: str, params: dict, new: Node) -> Node:
    """The old node with the part behind one view step replaced by the new value."""
    if op == "reshape":
        return reshape(new, old.shape)
    if op == "from_local":
        return to_local(new, storable_layout(params["layout"]))
    if op == "to_local":
        return from_local(new, params["layout"])
    if op == "permute":
        order = params["order"]
        return permute(new, tuple(order.index(k) for k in range(len(order))))
    return put_slice(old, params["bounds"], new)


def put_places(old: Node, chain: Chain, new: Node) -> Node:
    """old with new in the places of a view; an element in several places gets the last value."""
    own = old.arena.node("iota", (), size=old.size, dtype=int64)
    places = read(reshape(own, old.shape), chain)
    flat, index, values = (reshape(x, (x.size,)) for x in (old, places, new))
    return reshape(index_copy(flat, 0, index, values), old.shape)


def storable_layout(layout: MeshLayout) -> MeshLayout:
    """A layout in which a value can be stored."""
    if any(isinstance(each, Partial) for *_, each in layout):
        raise LayoutError(
            "write: what ranks hold of this tensor is still to be folded, so a write to the whole "
            "has no meaning. Write to redistribute() of it."
        )
    return layout


def put_slice(old: Node, bounds: tuple[tuple[int, int, int], ...], new: Node) -> Node:
    """old with new in the places of a slice."""
    backwards = [axis for axis, (_, _, step) in enumerate(bounds) if step < 0]
    for axis in backwards:
        new = flip(new, axis)
    bounds = tuple(map(ascending, bounds))
    low = tuple(start for start, _, _ in bounds)
    between = tuple(step - 1 for _, _, step in bounds)
    reach = [max((n - 1) * step + 1, 0) for n, (_, _, step) in zip(new.shape, bounds, strict=True)]
    high = tuple(n - a - r for n, a, r in zip(old.shape, low, reach, strict=True))
    if 0 in new.shape:
        return old
    if not any((*low, *high, *between)):
        return new
    here = expand(constant(old.arena, True, bool_), new.shape)
    return where(pad(here, low, high, False, between), pad(new, low, high, 0, between), old)


def ascending(bound: tuple[int, int, int]) -> tuple[int, int, int]:
    """The places of a slice, from the lowest up.

    >>> ascending((4, -1, -2)), ascending((0, 4, 3))
    ((0, 5, 2), (0, 4, 3))
    """
    start, stop, step = bound
    places = () if step > 0 else range(start, stop, step)
    return (places[-1], start + 1, -step) if places else bound
