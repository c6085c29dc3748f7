"""Histories that a backward pass frees: results on its way become leaves that it cannot pass again.

A result that is still held, as by `outputs.append(y.detach())`, would hold the graph behind it:
activations that were saved for gradients, and the weights of its step, which the next update could
not write over. As in PyTorch, a pass frees what gradients read, unless it retains its graph; the
history of sums and views alone, whose gradients read nothing, stays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator
from functools import cache

from gnomon.ir.memo import memo
from gnomon.ir.node import Graph, Node
from gnomon.passes.gradient_paths import passed
from gnomon.tensor.autograd.dropping import drop_history
from gnomon.tensor.borrowing import borrows
from gnomon.tensor.evaluate import is_filled
from gnomon.tensor.state import Storage, is_capturing, state
from gnomon.tensor.tensor import Tensor

__all__ = ["release"]

LINEAR = frozenset({"add", "bitcast", "cast", "neg", "sub", "where"})
"""Functions of numbers whose gradients read no value that a graph would have to keep."""
SAVING = frozenset(
    {"cond", "contract", "fold_over", "gather", "scan", "scan_over", "scatter", "sort", "while"}
)
"""Operations whose gradients read values."""


def release(roots: Iterable[Tensor], seeds: Iterable[Node], order: Container[Node]) -> None:
    """Free the graph of a pass: the history of its roots, and of retained results on the way.

    seeds: the nodes of the roots. order: the nodes of the graph.
    """
    ended = {root._storage for root in roots if not shows_leaf(root) and has_saved(root, order)}
    if not is_capturing():
        ended |= held_on_the_way(seeds, order)
    for storage in ended:
        storage.released = True
        if borrows(storage.node):
            drop_history(storage)
        elif storage.node.inputs:
            storage.node.arena.part_with(storage.node)  # an equal one has a history of its own


def held_on_the_way(seeds: Iterable[Node], order: Container[Node]) -> set[Storage]:
    """The storages of results that a pass went over, each the only one of its node."""
    held: dict[Node, set[Storage]] = {}
    for storage in (*[reference() for reference in state.pending], *state.histories):
        if storage is None or not storage.tracked or not storage.node.inputs:
            continue
        node = storage.node
        while node.op == "barrier" and node not in order:  # of memory that others have too
            (node,) = node.inputs
        if node in order and node.inputs:
            held.setdefault(node, set()).add(storage)
    met = passed_among(held, seeds, order)
    return {x for node in met if len(held[node]) == 1 for x in held[node]}


def passed_among(
    held: Collection[Node], seeds: Iterable[Node], order: Container[Node]
) -> Iterator[Node]:
    """The nodes, of some held ones, whose gradients pass on to values that they read.

    The walk goes from the roots on, near which most of them are, and ends with the last of them.
    """
    left, queue, seen = len(held), deque(seeds), set[Node]()
    while queue and left:
        x = queue.popleft()
        if x in seen or x not in order or x.op == "detach" or not x.dtype.is_floating_point:
            continue
        seen.add(x)
        queue.extend(passed(x))
        if x in held:
            left -= 1
            if saves_behind(x, order):
                yield x


def has_saved(root: Tensor, order: Container[Node]) -> bool:
    """Whether a pass from a root reads values that it frees."""
    return root._storage.released or saves_behind(root._storage.node, order)


def saves_behind(node: Node, order: Container[Node]) -> bool:
    """Whether gradients read a value on their way from a node through others of a graph."""
    stack, seen = [node], set[Node]()
    while stack:
        x = stack.pop()
        if x in seen or x not in order or x.op == "detach":
            continue
        if saves(x):
            return True
        seen.add(x)
        stack.extend(passed(x))
    return False


def saves(node: Node) -> bool:
    """Whether an operation's gradient reads a value: the result, or one of the operands."""
    if node.op == "region":
        return has_saving(node.params["body"])
    if node.op == "reduce":
        return node.params["monoid"] != "add"
    if node.op != "map" or node.dtype.kind != "float":
        return node.op in SAVING
    function, inputs = node.params["f"], node.inputs
    if function in ("mul", "div"):
        return not is_filled(inputs[1]) and (function == "div" or not is_filled(inputs[0]))
    return function not in LINEAR


@memo
@cache
def has_saving(body: Graph) -> bool:
    """Whether a region contains an operation whose gradient reads a value."""
    return any(map(saves, body))


def shows_leaf(tensor: Tensor) -> bool:
    """Whether a tensor is a leaf, or a view of one, so that no history is freed behind it."""
    while not tensor._requires and tensor._view is not None and tensor._view.base is not None:
        tensor = tensor._view.base
    return tensor._requires
