"""What `numerics="fast"` drops: the leaves of sums, which become one chain, or 64 lanes, each.

Without leaves there are no partial sums and no tree. Nobody but the contract needs them: threads
share results, never a sum. A sum that would err more without its leaves keeps them
(gnomon/passes/gate.py). Each kernel's price is measured by benchmarks/contract.py.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.rewrite import remade
from gnomon.ops.primitives import split_spec, summed
from gnomon.passes import gate

SUMS = ("reduce", "contract", "scatter")


def loosen(graph: Graph) -> Graph:
    """The graph with sums that have no trees, where that costs no accuracy."""
    return remade(graph, rebuild) if any(is_loose(node) for node in graph) else graph


def has_tree(node: Node) -> bool:
    """Whether a node sums over leaves."""
    return node.op in SUMS and node.params["leaves"] != without(node.params["leaves"])


def is_loose(node: Node) -> bool:
    """Whether a node sums over leaves that it does not need."""
    return has_tree(node) and not why_kept(node)


def why_kept(node: Node) -> str:
    """Why a sum keeps its leaves."""
    p, (x, *others) = node.params, node.inputs
    if node.op == "reduce":
        return gate.refused(x.shape[p["axis"]], p["leaves"], p["lanes"])
    left, right, out = split_spec(p["spec"])
    sizes = dict(zip(left + right, (*x.shape, *others[0].shape), strict=False))
    letters = (
        summed(left, right, out) if node.op == "contract" else [c for c in left if c not in out]
    )
    return gate.refused(prod(sizes[c] for c in letters), prod(p["leaves"]), False)


def kept(graph: Graph) -> list[str]:
    """What is told of the sums of a graph that keep their leaves."""
    found = Counter(f"{x.op}, {why_kept(x)}" for x in graph.nodes if has_tree(x))
    return [f"  {count} of {what}" for what, count in found.items()]


def without(leaves: int | tuple[int, ...]) -> int | tuple[int, ...]:
    """One leaf for each axis that is summed."""
    return (1,) * len(leaves) if isinstance(leaves, tuple) else 1


def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs, without its tree."""
    if not is_loose(node):
        return arena.again(node, inputs)
    return arena.node(node.op, inputs, **{**node.params, "leaves": without(node.params["leaves"])})
