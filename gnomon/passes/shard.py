"""A global program becomes one rank's program, for one mesh axis at a time.

    choose   forward: per node the strategy that computes no product twice, then moves least, then
             repeats least; a split only ever follows a split
    sink     backward: what is only ever read in parts is computed in parts
    emit     nodes on parts, and collectives where placements change

Several mesh axes are several runs, outermost first: the rows of one rank are cut again by the next.
A plan of which input lies how is given; nothing here knows parameters or models.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import inherit
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
    local_shape,
    move_price,
)
from gnomon.passes.legalize import legalize
from gnomon.passes.localize import Locals
from gnomon.passes.strategies import Strategy, strategies
from gnomon.passes.widen import widen

Plan = dict[Node, Strategy]
Cost = tuple[float, float, float]
"""Repeated flops of products, price of moves, repeated elements."""


@dataclass(frozen=True)
class Sharded:
    """One rank's program; its last input is the rank's number along the mesh axis."""

    graph: Graph
    outputs: tuple[Placement, ...]
    plan: Plan
    """What was decided for each node of the program that was divided."""


def open_up(graph: Graph) -> Graph:
    """The graph as primitives whose sums can be cut: what `shard` takes."""
    return widen(legalize(inline(graph, lambda node: False)))


def shard(
    graph: Graph,
    across: Across,
    inputs: Sequence[Placement],
    outputs: Sequence[Placement | None],
) -> Sharded:
    """One rank's program, given how inputs lie and how outputs shall.

    An output of None leaves as it comes, a pending sum excepted: that is reduced.
    """
    check(graph, across, inputs, outputs)
    plan = choose(graph, across, dict(zip(graph.inputs, inputs, strict=True)))
    ends = [end_of(x, want, plan) for x, want in zip(graph.outputs, outputs, strict=True)]
    sink(graph, across, plan, ends)
    return Sharded(emit(graph, across, plan, ends), tuple(ends), plan)


def check(
    graph: Graph,
    across: Across,
    inputs: Sequence[Placement],
    outputs: Sequence[Placement | None],
) -> None:
    """Refuse parts of unequal sizes."""
    given = (*zip(graph.inputs, inputs, strict=True), *zip(graph.outputs, outputs, strict=True))
    for x, placement in given:
        if placement is not None and not fits(x.shape, placement, across.ranks):
            name = x.params.get("name") or x.op
            raise LayoutError(
                f"shard: {name} {x.shape} cannot lie as {placement}: {across.ranks} ranks of mesh "
                f"axis {across.name!r} do not divide that axis. Split another, or none."
            )


def end_of(x: Node, want: Placement | None, plan: Plan) -> Placement:
    """How an output leaves."""
    if want is not None:
        return want
    have = plan[x].given
    return REPLICATED if isinstance(have, Partial) else have


# choose


def choose(graph: Graph, across: Across, given: dict[Node, Placement]) -> Plan:
    """The strategy of every node, forward."""
    plan: Plan = {}
    moved: set[tuple[Node, Placement]] = set()
    for node in (*graph.inputs, *graph.nodes):
        if node in given:
            plan[node] = Strategy((), given[node])
            continue
        options = [s for s in strategies(node, across) if follows(node, s, plan)]
        plan[node] = min(options, key=lambda s: cost(node, s, plan, moved, across))
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
    if node.op != "contract":
        return 0.0
    left, right, out = split_spec(node.params["spec"])
    sizes = dict(zip(left + right, node.inputs[0].shape + node.inputs[1].shape, strict=True))
    flops = 2.0 * node.size
    for letter in summed(left, right, out):
        flops *= sizes[letter]
    return flops


# sink


def sink(graph: Graph, across: Across, plan: Plan, ends: Sequence[Placement]) -> None:
    """Compute in parts what every reader wants in the same parts, where inputs need no message."""
    wants: dict[Node, set[Placement]] = defaultdict(set)
    for x, end in zip(graph.outputs, ends, strict=True):
        wants[x].add(end)
    for node in reversed(graph.nodes):
        if node.op != "input" and plan[node].given == REPLICATED and len(wants[node]) == 1:
            (want,) = wants[node]
            plan[node] = in_parts(node, want, plan, across) or plan[node]
        for x, want in zip(node.inputs, plan[node].wanted, strict=True):
            wants[x].add(want)


def in_parts(node: Node, want: Placement, plan: Plan, across: Across) -> Strategy | None:
    """A strategy that gives this split without a message."""
    if not isinstance(want, Split):
        return None
    for strategy in strategies(node, across):
        moves = zip(node.inputs, strategy.wanted, strict=True)
        if strategy.given == want and all(plan[x].given in (w, REPLICATED) for x, w in moves):
            return strategy
    return None


# emit


def emit(graph: Graph, across: Across, plan: Plan, ends: Sequence[Placement]) -> Graph:
    """One rank's graph."""
    arena = Arena()
    local = Locals(arena, across)
    held: dict[tuple[Node, Placement], Node] = {}

    def fetch(x: Node, want: Placement) -> Node:
        if (x, want) not in held:
            have = plan[x].given
            with inherit(x.sites):
                held[x, want] = local.move(held[x, have], have, want)
        return held[x, want]

    inputs = []
    for node in graph.inputs:
        shape = local_shape(node.shape, plan[node].given, across.ranks)
        inputs.append(arena.input(shape, node.dtype, node.params["name"]))
        held[node, plan[node].given] = inputs[-1]
    for node in graph.nodes:
        if node.op == "input":
            continue
        strategy = plan[node]
        parts = tuple(fetch(x, w) for x, w in zip(node.inputs, strategy.wanted, strict=True))
        with inherit(node.sites):
            held[node, strategy.given] = local.build(node, strategy, parts)
    outputs = [fetch(x, end) for x, end in zip(graph.outputs, ends, strict=True)]
    return Graph([*inputs, local.rank], outputs)
