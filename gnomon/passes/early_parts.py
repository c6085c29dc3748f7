"""Take parts of gradients before they are rounded: a pending sum is scattered, not reduced.

A parameter that is used in another dtype has a gradient that is rounded to that dtype, cast back,
and stored in parts. Rounding ends a pending sum, so that every rank would reduce the whole of it.
Elementwise functions give the same bits on a part, so the part is taken before them.
"""

from __future__ import annotations

from collections import Counter

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.rewrite import remade

__all__ = ["with_early_parts"]

PASSED = frozenset({"cast", "add"})
"""Scalar functions of gradients before which parts are taken."""


def with_early_parts(graph: Graph) -> Graph:
    """The program whose parts of rounded values are taken before they are rounded."""
    readers = Counter(x for node in graph for x in node.inputs)
    readers.update(graph.outputs)

    def passes(node: Node) -> bool:
        """Whether a node is elementwise and read once, so that its part can be taken before it."""
        pointwise = node.op == "detach" or node.params.get("f") in PASSED
        return pointwise and readers[node] == 1 and all(x.shape == node.shape for x in node.inputs)

    def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node.op != "to_local":
            return arena.with_inputs(node, inputs)

        def part(old: Node, new: Node) -> Node:
            if not passes(old):
                return arena.with_inputs(node, (new,))
            pairs = zip(old.inputs, new.inputs, strict=True)
            return arena.with_inputs(old, tuple(part(x, y) for x, y in pairs))

        return part(node.inputs[0], inputs[0])

    return remade(graph, rebuild)
