"""Zero-size folding: values without elements are not computed, and folds of them are constants.

Afterwards no computed node has an axis of size 0 or reads one, so that no kernel has a loop without
iterations: every result is written, whatever the sizes are. The graphs of conditionals and loops
are folded when they become kernels. The interpreter (gnomon/ops/interpret.py) does not need this
pass.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import constant, elementwise
from gnomon.ir.rewrite import remade
from gnomon.ops.primitives import expand, identity_of, split_spec

__all__ = ["empty", "touches_nothing"]

NodeInputs = tuple[Node, ...]


def empty(graph: Graph) -> Graph:
    """The graph in which nothing reads a value without elements."""
    return remade(graph, rebuild) if any(map(touches_nothing, graph)) else graph


def touches_nothing(node: Node) -> bool:
    """Whether a node or an input of it has no elements, or it is a loop of no iterations."""
    return not node.size or not all(x.size for x in node.inputs) or not iterations(node)


def iterations(node: Node) -> int:
    """The number of a loop's iterations."""
    return node.params["length"] if node.op == "scan_over" else 1


def rebuild(arena: Arena, node: Node, inputs: NodeInputs) -> Node:
    """A node over new inputs; a constant or a smaller node where an input has no elements."""
    if not node.size:
        return fill_empty(arena, node, 0)
    if not iterations(node):
        index: int = node.params["index"]
        return inputs[index]
    if all(x.size for x in inputs) or node.op not in OF_NOTHING:
        return arena.with_inputs(node, inputs)
    return OF_NOTHING[node.op](arena, node, inputs)


def fill_empty(arena: Arena, node: Node, value: float) -> Node:
    """A constant of a node's shape and dtype."""
    return expand(constant(arena, value, node.dtype), node.shape)


def identity(arena: Arena, node: Node, inputs: NodeInputs) -> Node:
    """The identity of a fold in the node's shape: the result of folding an empty axis."""
    return fill_empty(arena, node, identity_of(node.params["monoid"], node.dtype))


def unfound(arena: Arena, node: Node, inputs: NodeInputs) -> Node:
    """A lookup in an empty table, as one in a row of zeros at positions outside of it."""
    x, index = inputs
    table, _, out = split_spec(node.params["spec"])
    shape = tuple(1 if c not in out else n for c, n in zip(table, x.shape, strict=True))
    row = expand(constant(arena, 0, x.dtype), shape)
    outside = elementwise("maximum", index, 1)
    return arena.with_inputs(node, (row, outside))


OF_NOTHING: dict[str, Callable[[Arena, Node, NodeInputs], Node]] = {
    "reduce": identity,
    "scatter": identity,
    "contract": lambda arena, node, inputs: fill_empty(arena, node, 0),
    "pad": lambda arena, node, inputs: fill_empty(arena, node, node.params["value"]),
    "gather": unfound,
}
"""Primitive -> its replacement if an input is empty; other primitives are empty then too."""
