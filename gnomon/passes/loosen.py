"""What `numerics="fast"` drops: the leaves of sums, which become one chain, or 64 lanes, each.

Without leaves there are no partial sums and no tree. Nobody but the contract needs them: threads
share results, never a sum. Each kernel's price is measured by benchmarks/contract.py.
"""

from __future__ import annotations

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.rewrite import remade

SUMS = ("reduce", "contract", "scatter")


def loosen(graph: Graph) -> Graph:
    """The graph with sums that have no trees."""
    return remade(graph, rebuild) if any(has_tree(node) for node in graph) else graph


def has_tree(node: Node) -> bool:
    """Whether a node sums over leaves."""
    return node.op in SUMS and node.params["leaves"] != without(node.params["leaves"])


def without(leaves: int | tuple[int, ...]) -> int | tuple[int, ...]:
    """One leaf for each axis that is summed."""
    return (1,) * len(leaves) if isinstance(leaves, tuple) else 1


def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs, without its tree."""
    if not has_tree(node):
        return arena.again(node, inputs)
    return arena.node(node.op, inputs, **{**node.params, "leaves": without(node.params["leaves"])})
