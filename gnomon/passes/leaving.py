"""The layout in which a program leaves its result without a last move, pending sums excepted.

The layout of an operation's result is determined here before the result is computed, so that it may
stay in parts, and ranks that must communicate for it do so at the operation's call.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Graph, Node
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.layouts import MeshLayout, OwnRows
from gnomon.ops.placements import REPLICATED, VARYING, Partial, Placement, Split
from gnomon.passes.choose import Plan, has_gradient, has_rows, types
from gnomon.passes.divide import mesh_axes
from gnomon.passes.layout import NETWORK, MeshAxis
from gnomon.passes.localize import is_alike
from gnomon.passes.shard import open_up, shard
from gnomon.passes.start_order import has_own_rows
from gnomon.settings import Settings, current

__all__ = ["Leaving", "leaving"]


class Leaving(NamedTuple):
    """The layout of a result, mesh axes along which its rows stay, whether ranks communicate."""

    layout: MeshLayout
    rows: OwnRows
    meets: bool
    varies: tuple[str, ...] = ()
    """Mesh axes along which each rank has a value of its own, which counts as replicated."""


_known: Recent[tuple[str, tuple[str, ...], Settings], Leaving] = memo(Recent())


def leaving(graph: Graph, along: AbstractSet[str], order: Sequence[str]) -> Leaving:
    """The layout of a program's one result along mesh axes, in this order, outermost first."""
    key = (graph.key, tuple(order), current())
    found = _known.get(key)
    if found is None:
        found = _known[key] = found_for(graph, along, order)
    return found


def found_for(graph: Graph, along: AbstractSet[str], order: Sequence[str]) -> Leaving:
    """Compute the layout of a program's one result, without the cache."""
    axes = mesh_axes(graph)
    graph = open_up(graph)
    layout: list[tuple[str, int, Placement]] = []
    rows: list[str] = []
    gradient, given = False, True
    varies: list[str] = []
    for name in sorted(axes, key=lambda name: order.index(name) if name in order else len(order)):
        ordered, others = current().numerics != "fast", frozenset(axes) - {name}
        across = MeshAxis(name, axes[name], NETWORK, ordered, others)
        held = [REPLICATED if is_alike(x) else VARYING for x in graph.inputs]
        kinds = types(graph, across, dict(zip(graph.inputs, held, strict=True)))
        kind = kinds[graph.outputs[0]]
        made = shard(graph, across, held, [REPLICATED if isinstance(kind, Partial) else kind])
        (placement,), (result,) = made.outputs, graph.outputs
        own, own_gradients = rows_of(graph, made.plan)
        if result in own:
            rows.append(name)
            gradient |= result in own_gradients
            given &= has_own_rows(graph, name)
        if placement == VARYING:
            varies.append(name)
        if name in along:
            kept = placement if isinstance(placement, Split) else REPLICATED
            layout.append((name, axes[name], kept))
        graph = made.graph
    return Leaving(
        tuple(layout), OwnRows(tuple(rows), gradient, given), any(map(meets, graph)), tuple(varies)
    )


def rows_of(graph: Graph, plan: Plan) -> tuple[set[Node], set[Node]]:
    """The nodes of a program whose parts are rows that stay, and those of gradients among them."""
    rows: set[Node] = set()
    gradients: set[Node] = set()
    for node in graph.nodes:
        if has_rows(node, plan, rows):
            rows.add(node)
        if has_gradient(node, plan, gradients):
            gradients.add(node)
    return rows, gradients


def meets(node: Node) -> bool:
    """Whether a node of one rank's program is a collective."""
    return node.op in COLLECTIVES and node.params["ranks"] > 1
