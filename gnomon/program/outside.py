"""The position that a kernel found outside its axis, found again by the definitions.

A kernel stores that there is one, and no more: its loops stay short. What is said of it is looked
for in the program's graph, from the inputs that are still at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from gnomon.ir.node import Graph, Node, topological
from gnomon.ops.interpret import interpret
from gnomon.ops.primitives import split_spec
from gnomon.passes.inline import inline

__all__ = ["outside"]

MOST_ELEMENTS = 1 << 24
"""The most elements that are recomputed for an error message."""
PLAIN = frozenset(
    {"barrier", "const", "detach", "expand", "gather", "input", "iota", "map", "pad", "permute"}
    | {"reduce", "reshape", "scan", "scatter", "slice", "sort", "window"}
)
"""Primitives that need nothing but their inputs."""


def outside(source: Graph, value_of: Callable[[int], np.ndarray]) -> str:
    """A clause of an error on the first position outside of its axis; empty if none is found.

    value_of gives an input's value by its number.
    """
    graph = inline(source, lambda node: False)
    numbers = {leaf: k for k, leaf in enumerate(graph.inputs)}
    for positions, axis, size in lookups(graph):
        behind = topological([positions])
        if not all(map(is_plain, behind)) or sum(x.size for x in behind) > MOST_ELEMENTS:
            continue
        feeds = {x: value_of(numbers[x]) for x in behind if x in numbers}
        asked = before_wrapping(positions)
        found, values = interpret([positions, asked], feeds)
        wrong = (found < 0) | (found >= size)
        if wrong.any():
            return f": {values.reshape(found.shape)[wrong][0]} for axis {axis} of size {size}"
    return ""


def is_plain(node: Node) -> bool:
    """Whether numpy can compute a node from the values of inputs."""
    sizes = all(type(n) is int for n in node.shape)
    return sizes and node.op in PLAIN


def lookups(graph: Graph) -> Iterator[tuple[Node, int, int]]:
    """The positions of every lookup, with the axis and its size, as users count axes."""
    for node in graph.nodes:
        if node.op == "gather":
            table, _, out = split_spec(node.params["spec"])
            axis = next(k for k, c in enumerate(table) if c not in out)
            yield from parts_of(node.inputs[1], node.inputs[0], axis, node.inputs[0].shape[axis])
        elif node.op == "scatter":
            values, _, out = split_spec(node.params["spec"])
            axis = next((k for k, c in enumerate(out) if c not in values), 0)
            yield from parts_of(node.inputs[1], node, axis, node.params["size"])


def parts_of(positions: Node, table: Node, axis: int, size: int) -> Iterator[tuple[Node, int, int]]:
    """The positions in each axis, if a number encodes those of several axes."""
    joint, found = unshaped(positions), []
    while is_joint(joint, size):
        low, high = joint.inputs[0].inputs
        found.append((low.inputs[0], high.inputs[1].params["value"]))
        joint = joint.inputs[2].inputs[0].inputs[0]
    if found:
        rest = size // max(prod(n for _, n in found), 1)
        found = [(joint, rest), *reversed(found)]
        axis, size = axis + len(found) - 1, found[-1][1]
        for k, (each, n) in enumerate(found):
            yield each, named_axis(table, k), n
        return
    yield positions, named_axis(table, axis), size


def is_joint(node: Node, count: int) -> bool:
    """Whether a node encodes positions in several axes as one number, `count` if one is outside."""
    if node.op != "map" or node.params["f"] != "where":
        return False
    condition, most, _ = node.inputs
    is_count = most.op == "const" and most.params["value"] == count
    return is_count and condition.op == "map" and condition.params["f"] == "or"


def named_axis(table: Node, axis: int) -> int:
    """The user's number of an axis of a table, before axes were moved and merged."""
    while table.op in ("permute", "detach", "barrier", "reshape"):
        axis = table.params["order"][axis] if table.op == "permute" else axis
        (table,) = table.inputs
    return axis


def unshaped(node: Node) -> Node:
    """The node behind reshapes, with the same elements."""
    while node.op in ("reshape", "barrier", "detach"):
        (node,) = node.inputs
    return node


def before_wrapping(positions: Node) -> Node:
    """Positions before negative ones were wrapped."""
    while positions.op in ("reshape", "expand", "barrier", "detach"):
        (inner,) = positions.inputs
        if inner.size != positions.size:
            return positions
        positions = inner
    if positions.op == "map" and positions.params["f"] == "where":
        kept = positions.inputs[2]
        return kept if kept.shape == positions.shape else positions
    return positions
