"""Relax sums under `numerics="fast"`: without leaves, each is one chain, or 64 lanes.

Without leaves there are no partial sums and no tree. Only the contract of canonical order needs
them: threads share results, never a sum. A sum that would be less accurate without its leaves keeps
them: tests hold the dropped ones to the bound of tests/accuracy.py. Each kernel's price is measured
by benchmarks/contract.py.
"""

from __future__ import annotations

from math import prod

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.rewrite import remade
from gnomon.ops.primitives import split_spec
from gnomon.ops.statistics import LANES

SUMS = ("reduce", "contract", "scatter")
LONGEST = 8
"""The longest chain that errs as little as leaves do; tests refuse some of 16 terms."""


def loosen(graph: Graph) -> Graph:
    """The graph with sums that have no leaves, where that costs no accuracy."""
    return remade(graph, rebuild) if any(map(is_loose, graph)) else graph


def has_tree(node: Node) -> bool:
    """Whether a node sums over leaves."""
    return node.op in SUMS and node.params["leaves"] != flat_leaves(node.params["leaves"])


def is_loose(node: Node) -> bool:
    """Whether a node sums over leaves that it does not need."""
    return has_tree(node) and chain(node) <= LONGEST


def chain(node: Node) -> int:
    """The number of terms that are added one after another in a sum without leaves."""
    p, shapes = node.params, [x.shape for x in node.inputs]
    if node.op == "reduce":
        axis: int = p["axis"]
        return in_chain(shapes[0][axis], p["lanes"])
    left, right, out = split_spec(p["spec"])
    sizes = dict(zip(left + right, sum(shapes, ()), strict=False))
    return prod(n for c, n in sizes.items() if c not in out)


def in_chain(size: int, lanes: bool) -> int:
    """The number of terms in each chain of a sum of `size` terms.

    >>> in_chain(512, lanes=True), in_chain(512, lanes=False)
    (8, 512)
    """
    return -(-size // LANES) if lanes else size


def kept_leaves(graph: Graph) -> list[str]:
    """The lines of a report on the sums of a graph that keep their leaves."""
    found = sorted({(node.op, chain(node)) for node in graph.nodes if has_tree(node)})
    return [f"  {op} keeps its leaves: {n} roundings in a row err more" for op, n in found]


def flat_leaves(leaves: int | tuple[int, ...]) -> int | tuple[int, ...]:
    """The `leaves` parameter of a sum without a tree: 1 for each summed axis."""
    return (1,) * len(leaves) if isinstance(leaves, tuple) else 1


def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over new inputs, without leaves if it does not need them."""
    if not is_loose(node):
        return arena.with_inputs(node, inputs)
    return arena.node(
        node.op, inputs, **{**node.params, "leaves": flat_leaves(node.params["leaves"])}
    )
