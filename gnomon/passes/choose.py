"""Which way each node of a program is divided over the ranks of one mesh axis.

Forward, greedily: what computes no product twice, then moves least, then repeats least; a split
only ever follows a split. The correct ways come from strategies.py, except those of regions that
stay whole: they are found here, by asking the body.
"""

from __future__ import annotations

import math
from functools import cache

from gnomon.ir.node import Graph, Node
from gnomon.ops.primitives import split_spec, summed
from gnomon.passes.inline import inline
from gnomon.passes.layout import (
    REPLICATED,
    Across,
    Partial,
    Placement,
    Replicated,
    Split,
    fits,
    move_price,
)
from gnomon.passes.strategies import Strategy, strategies

Plan = dict[Node, Strategy]
Cost = tuple[float, float, float]
"""Repeated flops of products, price of moves, repeated elements."""


def choose(graph: Graph, across: Across, given: dict[Node, Placement]) -> Plan:
    """The strategy of every node, forward."""
    plan: Plan = {}
    moved: set[tuple[Node, Placement]] = set()
    for node in (*graph.inputs, *graph.nodes):
        if node in given:
            plan[node] = Strategy((), given[node])
            continue
        found = [s for s in options(node, across) if follows(node, s, plan)]
        plan[node] = min(found, key=lambda s: cost(node, s, plan, moved, across))
        moved.update(zip(node.inputs, plan[node].wanted, strict=True))
    return plan


def follows(node: Node, strategy: Strategy, plan: Plan) -> bool:
    """Whether some input already lies as wanted, where that is not everywhere."""
    if all(isinstance(w, Replicated) for w in strategy.wanted) and strategy.given == REPLICATED:
        return True
    return any(
        plan[x].given == w != REPLICATED for x, w in zip(node.inputs, strategy.wanted, strict=True)
    )


def cost(
    node: Node,
    strategy: Strategy,
    plan: Plan,
    moved: set[tuple[Node, Placement]],
    across: Across,
) -> Cost:
    """What a strategy costs, compared in this order."""
    price = sum(
        0.0 if (x, w) in moved else move_price(plan[x].given, w, x, across)
        for x, w in zip(node.inputs, strategy.wanted, strict=True)
    )
    if isinstance(strategy.given, Partial):
        price += move_price(strategy.given, REPLICATED, node, across)
    if math.isinf(price):
        return price, price, price
    repeated = strategy.given == REPLICATED
    return product_flops(node) * repeated, price, float(node.size * repeated)


def product_flops(node: Node) -> float:
    """The multiplications and additions of a product."""
    if node.op == "region":
        return sum(map(product_flops, opened(node)))
    if node.op != "contract":
        return 0.0
    left, right, out = split_spec(node.params["spec"])
    sizes = dict(zip(left + right, node.inputs[0].shape + node.inputs[1].shape, strict=True))
    flops = 2.0 * node.size
    for letter in summed(left, right, out):
        flops *= sizes[letter]
    return flops


# regions


def options(node: Node, across: Across) -> list[Strategy]:
    """Every correct way to run a node."""
    found = strategies(node, across)
    return found + (of_region(node, across) if node.op == "region" else [])


def opened(node: Node) -> Graph:
    """A region's result as primitives."""
    return result_of(node.params["body"], node.params["index"])


@cache
def result_of(body: Graph, index: int) -> Graph:
    """One result of a region's body as primitives."""
    return primitives_of(Graph(body.inputs, [body.outputs[index]]))


def primitives_of(body: Graph) -> Graph:
    """A graph with no region left."""
    return inline(body, lambda node: False)


def of_region(node: Node, across: Across) -> list[Strategy]:
    """Splits of all operands along one axis for which the body needs no message."""
    axes = axes_apart(node.params["body"], node.params["index"], across)
    return [Strategy(tuple(Split(k) for _ in node.inputs), Split(k)) for k in axes]


@cache
def axes_apart(body: Graph, index: int, across: Across) -> tuple[int, ...]:
    """The axes along which a region's result follows all operands, without a message."""
    graph, found = result_of(body, index), []
    (out,) = graph.outputs
    for axis in range(out.rank):
        split = Split(axis)
        if all(fits(x.shape, split, across.ranks) for x in (out, *graph.inputs)):
            plan = choose(graph, across, dict.fromkeys(graph.inputs, split))
            if plan[out].given == split and stays_apart(graph, plan):
                found.append(axis)
    return tuple(found)


def stays_apart(body: Graph, plan: Plan) -> bool:
    """Whether every node finds its inputs as it wants them."""
    return all(
        plan[x].given == want
        for node in body
        for x, want in zip(node.inputs, plan[node].wanted, strict=True)
    )
