"""Memory that others can write to: which buffers those are, and how a tensor keeps away from them.

A value is shared by every node and storage that has no reason to differ. Once numpy or another
library can write to its bytes, they belong to one storage alone: the others get a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from operator import attrgetter

import numpy as np

from gnomon.ir.node import Node
from gnomon.runtime.buffer import Buffer
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.state import leaf, state, waiting
from gnomon.tensor.tensor import Tensor, method, raw, value_of

ALONE = 3
"""References to what only one storage holds: its holder, a variable, the count itself."""


def lend(tensor: Tensor) -> Buffer:
    """The tensor's bytes for somebody who may write to them: what reads them is computed first."""
    value = value_of(tensor)
    evaluate([node for node in waiting() if reads(node, value)])
    if tensor._view is None and not value.lent and not holds_alone(tensor):
        value = copied(value)
        node = raw(tensor)
        tensor._storage.node = leaf(node.shape, node.dtype, value)
    value.lent = True
    return value


def borrow(tensor: Tensor) -> Tensor:
    """A tensor over bytes that somebody else may write to."""
    value_of(tensor).lent = True
    return tensor


def holds_alone(tensor: Tensor) -> bool:
    """Whether no other storage, and no pending node, has this tensor's node or its bytes."""
    node = tensor._storage.node
    value = node.value
    # the caller holds the bytes too; what belongs to another thread has an image here
    return (
        node.op == "input"
        and node.arena is state.arena
        and sys.getrefcount(node) <= ALONE
        and sys.getrefcount(value) <= ALONE + 1
    )


def is_free(tensor: Tensor) -> bool:
    """Whether a new value of a tensor may be written over the old one: nobody else holds it."""
    return tensor._view is None and holds_alone(tensor) and not tensor._storage.node.value.lent


def all_free(tensors: Sequence[Tensor]) -> bool:
    """Whether all tensors are free; a step asks it of all that its optimizer writes.

    As above, the caller holds the values in a list of its own.
    """
    nodes = list(map(node_there, tensors))
    values = list(map(value_there, nodes))
    return (
        max(map(sys.getrefcount, nodes)) <= ALONE
        and max(map(sys.getrefcount, values)) <= ALONE + 1
        and not any(map(lent_there, values))
        and not any(map(view_there, tensors))
        and set(map(place_there, nodes)) == {("input", state.arena)}
    )


node_there, value_there, lent_there, view_there, place_there = (
    *map(attrgetter, ("_storage.node", "value", "lent", "_view")),
    attrgetter("op", "arena"),
)


def reads(node: Node, value: object) -> bool:
    """Whether a pending node depends on a buffer."""
    seen, stack = set(), [node]
    while stack:
        found = stack.pop()
        if found.value is value:
            return True
        if found not in seen and found.value is None:
            seen.add(found)
            stack.extend(found.inputs)
    return False


def copied(value: Buffer) -> Buffer:
    """The same bytes in memory of our own."""
    made = Buffer(value.nbytes)
    made.numpy(np.uint8, (value.nbytes,))[...] = value.numpy(np.uint8, (value.nbytes,))
    return made


def kept_apart(node: Node) -> Node:
    """A node whose bytes nobody else can write to."""
    value = node.value
    if value is None or not value.lent:
        # a write to the copy must not look like one to the original
        return node.arena.unique("barrier", node) if has_history(node) else node
    if node.watch or node.inputs:
        made = node.arena.unique("barrier", node)
        made.value = copied(value)
        return made
    return leaf(node.shape, node.dtype, copied(value))


def has_history(node: Node) -> bool:
    """Whether a node is a result, which gradients may need."""
    return bool(node.inputs) and node.dtype.kind == "float" and node.op != "detach" and state.grad


@method
def share_memory_(self: Tensor) -> Tensor:
    """Itself: threads share all memory."""
    return self
