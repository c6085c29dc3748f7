"""Give sums in their accumulator's dtype, and round them by a separate cast.

Kernels round once, after the last addition, so this changes no bit; it creates a point between sum
and rounding at which ranks can add their parts. Results of a region that end in a rounded sum are
rounded outside of it.
"""

from __future__ import annotations

from gnomon.dtypes import accumulator
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast
from gnomon.ir.rewrite import remade


def widen(graph: Graph) -> Graph:
    """The graph whose sums have their accumulator's dtype, and are cast afterwards."""
    if not any(is_narrow_sum(node) for node in graph):
        return graph
    return remade(graph, rebuild)


def is_narrow_sum(node: Node) -> bool:
    """Whether a node sums floats and rounds to a narrower dtype than it sums in."""
    if node.op == "region":
        return is_rounded(node.params["body"].outputs[node.params["index"]])
    return is_sum(node) and node.dtype is not accumulator(node.dtype)


def is_sum(node: Node) -> bool:
    """Whether a node sums floats: a contract, or a reduction by addition."""
    sums = node.op == "contract" or (node.op == "reduce" and node.params["monoid"] == "add")
    return sums and node.dtype.is_floating_point


def is_rounded(x: Node) -> bool:
    """Whether a value is a sum in its accumulator's dtype, rounded to another one."""
    return x.op == "map" and x.params["f"] == "cast" and is_sum(x.inputs[0])


def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs; a sum in its accumulator's dtype, followed by a cast."""
    if not is_narrow_sum(node):
        return arena.with_inputs(node, inputs)
    if node.op == "region":
        params = {"body": unrounded(node.params["body"])}
    else:
        params = {"dtype": accumulator(node.dtype)}
    return cast(arena.node(node.op, inputs, **{**node.params, **params}), node.dtype)


def unrounded(body: Graph) -> Graph:
    """The body of a region whose sums leave in the accumulator's dtype, without the last cast."""
    return Graph(body.inputs, [x.inputs[0] if is_rounded(x) else x for x in body.outputs])
