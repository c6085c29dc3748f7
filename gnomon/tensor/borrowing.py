"""Nodes that show bytes which are there already: they get their values without a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from gnomon.ir.node import Node
from gnomon.runtime.buffer import Buffer

BORROWERS = frozenset({"detach", "barrier", "reshape", "slice"})


def borrows(node: Node) -> bool:
    """Whether a node shows bytes that are there already; it has its value then.

    Parts of values are cut here and not by programs: a loop over parts would compile one for each.
    """
    if node.value is None and node.op in BORROWERS:
        (x,) = node.inputs
        if borrows(x):
            node.value = part_of(x, node) if node.op == "slice" else x.value
    return node.value is not None


def numbered(roots: Iterable[Node], ends: Callable[[Node], bool]) -> dict[Node, int]:
    """The nodes behind the roots down to such ends, numbered in an order that structure decides."""
    order: dict[Node, int] = {}
    stack = list(roots)
    stack.reverse()
    while stack:
        node = stack.pop()
        if node not in order:
            order[node] = len(order)
            if not ends(node):
                stack.extend(node.inputs)
    return order


def part_of(x: Node, node: Node) -> Buffer:
    """A slice of a value: the same memory where its elements are neighbours, else a copy."""
    bounds = node.params["bounds"]
    places = tuple(slice(a, b if b >= 0 else None, step) for a, b, step in bounds)
    whole = x.value.numpy(x.dtype.numpy, x.shape)
    part = whole[places]
    if not part.flags.c_contiguous:
        return Buffer.of(np.ascontiguousarray(part).reshape(node.shape))
    start = part.__array_interface__["data"][0]
    return Buffer.foreign(start, part.nbytes, x.value, x.value.readonly)


def is_plain_part(node: Node) -> bool:
    """Whether a node shows part of a value that no gradient passes: as good as a leaf."""
    if node.op not in BORROWERS or not borrows(node):
        return False
    while node.inputs and node.op in BORROWERS and not node.watch:
        if node.op == "detach":
            return True
        (node,) = node.inputs
    return not node.inputs and not node.watch
