"""Sums leave in their accumulator's dtype and are rounded by a cast of their own.

Kernels round once, after the last addition, so this changes no bit; what it gives is a place,
between sum and rounding, where ranks can add their parts.
"""

from __future__ import annotations

from gnomon.dtypes import accumulator
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast
from gnomon.ir.rewrite import remade


def widen(graph: Graph) -> Graph:
    """The graph with no sum narrower than its accumulator."""
    if not any(is_narrow_sum(node) for node in graph):
        return graph
    return remade(graph, rebuild)


def is_narrow_sum(node: Node) -> bool:
    """Whether a node sums floats and rounds to less than it sums in."""
    sums = node.op == "contract" or (node.op == "reduce" and node.params["monoid"] == "add")
    return sums and node.dtype.is_floating_point and node.dtype is not accumulator(node.dtype)


def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs, its rounding set apart."""
    if not is_narrow_sum(node):
        return arena.again(node, inputs)
    wide = arena.node(node.op, inputs, **{**node.params, "dtype": accumulator(node.dtype)})
    return cast(wide, node.dtype)
