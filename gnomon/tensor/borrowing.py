"""The graph that is pending, down to values and to nodes that show bytes of values.

Bytes that somebody else may write to are read now or copied, never by a node that waits.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from gnomon.ir.memo import memo
from gnomon.ir.node import Node, asked_by, copy_into, leaf_kind, topological
from gnomon.lazy import dissected
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.layouts import LAYOUTS, derived, is_constant, names_layouts
from gnomon.ops.view_primitives import STEPS, places_of
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.tensor.state import grads, leaf, leaf_of_value, mesh_results, state

if TYPE_CHECKING:
    from gnomon.ir.dissected import Dissection

BORROWERS = frozenset({"detach", "barrier", "reshape", "slice"})
INSIDE = frozenset({"region", *CONTROL})
"""Nodes with graphs inside, which may have lines of their own."""
CALLS = INSIDE | {"external"}
"""Nodes that may be one of several results."""
NOTED = CALLS | LAYOUTS | {"slice"}
"""Nodes that a survey lists."""
LEAF, MET, CONSTANT, SAME = -1, -2, -3, -4
"""Codes in place of a number of inputs: of a value, of a node that was met before, of a value made
of constants, where a program is sharded over ranks, which all have it alike, and of the operands of
a call that was met before."""


_waiting: WeakKeyDictionary[Node, bool] = memo(WeakKeyDictionary())


def borrows(node: Node) -> bool:
    """Whether a node is a view of bytes that exist, and so has its value.

    Parts of values are sliced here, not in programs: a loop over parts would compile one for each.
    """
    if node.value is None and node.op in BORROWERS:
        (x,) = node.inputs
        if x.op != "const" and borrows(x):
            node.value = part_of(x.value, node) if node.op == "slice" else x.value
    return node.value is not None


def history_of(roots: Iterable[Node]) -> dict[Node, int]:
    """The nodes that gradients may pass behind the roots, in an order that structure decides."""
    return numbered(roots, is_plain_part, BORROWERS)


def numbered(
    roots: Iterable[Node], ends: Callable[[Node], bool], among: Container[str] | None = None
) -> dict[Node, int]:
    """The nodes behind the roots down to these ends, in an order that structure decides.

    among: the operations of which ends are; None stands for all.
    """
    order: dict[Node, int] = {}
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node not in order:
            order[node] = len(order)
            if (among is not None and node.op not in among) or not ends(node):
                stack += node.inputs
    return order


def is_known(node: Node, numbers: Container[Node]) -> bool:
    """Whether a node's value is an input of programs; a constant is only if it varies."""
    return node in numbers if node.op == "const" else node.value is not None


class Survey:
    """The nodes behind roots down to values, numbered in an order that structure decides.

    The key lists what was met in pairs: a kind with its number of inputs, or a position of a node
    met before. With the positions of the roots it tells graphs apart. A constant is part of the
    structure, unless it is among the numbers.
    """

    __slots__ = (
        *("calls", "constants", "cuts", "key", "leaves", "lines", "order", "over_ranks"),
        *("_key", "_layouts", "_lines", "_numbers", "_operands"),
    )

    def __init__(self, roots: Sequence[Node], numbers: Container[Node] = ()) -> None:
        self._key: list[int] = []
        self._lines: list[tuple] = []
        self._numbers, self._layouts = numbers, 0
        self._operands: dict[tuple[Node, ...], int] = {}
        self.order: dict[Node, int] = {}
        self.leaves: list[Node] = []
        self.calls: list[Node] = []
        self.cuts: list[Node] = []
        self.constants: list[Node] = []
        """Values made of constants, where ranks must run one program, whoever knows them."""
        self.go_on(roots)

    def go_on(self, roots: Sequence[Node]) -> None:
        """Add further roots behind the others."""
        key, lines, numbers, operands = self._key, self._lines, self._numbers, self._operands
        order, stack = self.order, [*reversed(roots)]
        while stack:
            node = stack.pop()
            place = order.get(node)
            if place is not None:
                key += (place, MET)
                continue
            order[node] = len(order)
            inputs, op = node.inputs, node.op
            known = node in numbers if op == "const" else node.value is not None
            if known or (op in BORROWERS and borrows(node)):
                key += (leaf_kind(node.shape, node.dtype)[0], LEAF)
                self.leaves.append(node)
                continue
            key += (node.kind, len(inputs))
            if op in NOTED:
                if op in LAYOUTS:
                    self._layouts += 1
                else:
                    (self.calls if op in CALLS else self.cuts).append(node)
                inside = op in INSIDE and (op != "region" or node.params["body"].asked)
                lines.append(asked_by(node) if inside else node.sites)
                if inputs in operands:  # as of another result of a call: all were met with it
                    key += (operands[inputs], SAME)
                    continue
                operands[inputs] = order[node]
            else:
                lines.append(node.sites)
            stack += inputs
        named = self._layouts or (mesh_results and any(map(names_layouts, self.calls)))
        self.over_ranks = bool(named)
        """Whether layouts are named here, or inside of a call."""
        self.key, self.lines = tuple(key), tuple(lines)
        if self.over_ranks:
            self.constants = [x for x in self.leaves if is_constant(x)]
            for x in self.constants:
                self.key += (order[x], CONSTANT)

    def dissection(self, roots: Sequence[Node]) -> tuple[Dissection, tuple] | None:
        """The structure of the graph, without making it, and its source locations.

        None if ranks have parts, or if nodes differ in locations alone, which are one node of a
        graph.
        """
        ends = {*self.leaves}
        order = topological(roots, (), lambda x: () if x in ends else x.inputs)
        plain = [(x.kind, x.inputs) for x in order if x.inputs and x.inputs[-1].op == "const"]
        if self.over_ranks or len({*plain}) < len(plain):
            return None
        lines = tuple([() if x in ends else asked_by(x) for x in order])
        return dissected.dissection_of(self.leaves, order, roots), lines


def part_of(value: DeviceBuffer, node: Node) -> DeviceBuffer:
    """A slice of a value: the same memory if its elements are contiguous, else a copy."""
    (x,) = node.inputs
    if node.size == 1:
        start, size = 0, x.dtype.itemsize
        for (first, _, _), n in zip(node.params["bounds"], x.shape, strict=True):
            start = start * n + first
        return value.part(start * size, size)
    whole = value.array(x)
    part = whole[places_of(node.params["bounds"])]
    if not part.flags.c_contiguous:
        return DeviceBuffer.of(np.ascontiguousarray(part).reshape(node.shape), value.memory)
    return value.part(part.ctypes.data - whole.ctypes.data, part.nbytes)


def are_neighbours(node: Node) -> bool:
    """Whether the elements of a slice are contiguous."""
    whole = True
    for (_, _, step), n, size in zip(
        reversed(node.params["bounds"]),
        reversed(node.shape),
        reversed(node.inputs[0].shape),
        strict=True,
    ):
        if n > 1 and (step != 1 or not whole):
            return False
        whole = whole and n == size
    return True


def shows_stretch(node: Node, whole: Node) -> bool:
    """Whether a node views contiguous elements of a value, so that its bytes are the value's."""
    while node is not whole:
        if node.op != "reshape" and not (node.op == "slice" and are_neighbours(node)):
            return False
        (node,) = node.inputs
    return True


def waits_for_ranks(node: Node) -> bool:
    """Whether a pending value is made of parts on several ranks."""
    return derived(node, _waiting, own_waiting)


def own_waiting(node: Node, inputs: Sequence[bool]) -> bool:
    """Whether a value itself waits for ranks, although its operands are known."""
    if node.op in LAYOUTS:
        return True
    is_pending = node.op != "input" and node.value is None
    return is_pending and (names_layouts(node) or any(inputs))


def is_plain_part(node: Node) -> bool:
    """Whether a node is a view of a value without gradients, and so like a leaf."""
    if node.op not in BORROWERS or not borrows(node):
        return False
    while node.inputs and node.op in BORROWERS and not node.watch:
        if node.op == "detach":
            return True
        (node,) = node.inputs
    return not node.inputs and not node.watch


def is_shown(node: Node) -> bool:
    """Whether a node is a view of an input's bytes."""
    while node.op in BORROWERS:
        (node,) = node.inputs
    return node.op == "input"


def renamed(value: DeviceBuffer) -> DeviceBuffer:
    """A separate buffer object over another one's memory."""
    owner = value if value.owner is None else value.owner
    return DeviceBuffer.foreign(value.address, value.nbytes, owner, value.readonly, value.memory)


def is_lent(node: Node) -> bool:
    """Whether a node's bytes are lent, so that foreign code may write to them."""
    return node.value is not None and node.value.lent > 0


def copy_if_lent(node: Node, value: DeviceBuffer, history: bool) -> Node:
    """A node of the same value in other bytes, with its history if gradients may need it."""
    if not history:
        return leaf(node.shape, node.dtype, value, node.sites)
    made = node.arena.unique("barrier", node)
    made.value = value
    return made


def afresh(node: Node) -> Node:
    """A node to be computed anew, if its lent bytes may have been written to."""
    return copy_if_lent(node, node.value, True) if is_lent(node) else node


def kept_apart(node: Node, lent: bool = False) -> Node:
    """A node whose bytes are not lent."""
    if lent or is_lent(node):
        return copy_if_lent(node, node.value.copied(), bool(node.watch or node.inputs))
    # a write to the copy must not look like one to the original
    return node.arena.unique("barrier", node) if has_history(node) or node.watch else node


def taken_apart(node: Node) -> Node:
    """A separate node of a view's value, so that a write leaves the original to gradients."""
    if node.op not in STEPS or is_lent(node):
        return kept_apart(node)
    return node.arena.unique(node.op, *node.inputs, **node.params) if has_history(node) else node


def has_history(node: Node) -> bool:
    """Whether a node is a result with a history, which gradients may need."""
    return bool(node.inputs) and node.dtype.kind == "float" and node.op != "detach" and grads.get()


def at_home(node: Node) -> Node:
    """A node of another thread, rebuilt in this thread's arena with its history and values."""
    if node.arena is state.arena:
        return node
    if node not in state.images:
        copy_into(state.arena, [node], Images(state.images))
    return state.images[node]


class Images(dict):
    """A map of copied nodes that copies values too; leaves keep their buffers."""

    def __init__(self, images: WeakKeyDictionary[Node, Node]) -> None:
        self.images = images

    def __contains__(self, node: object) -> bool:
        if node not in self.images and node.value is not None and not node.inputs:
            self[node] = leaf_of_value(node)
        return node in self.images

    def __getitem__(self, node: Node) -> Node:
        return self.images[node]

    def __setitem__(self, node: Node, image: Node) -> None:
        image.value = node.value
        image.watch = node.watch
        self.images[node] = image
