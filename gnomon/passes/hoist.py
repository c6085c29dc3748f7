"""Loop-invariant code motion: values equal in all iterations are computed once, before a loop.

Lookups stay inside: a loop without iterations must not report an index out of range. Branches of
conditionals stay as they are, since only one of them runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from gnomon.ir.between import nearest
from gnomon.ir.node import Arena, Graph, Node, copy_into
from gnomon.ir.rewrite import remade
from gnomon.ops.control_primitives import CONTROL, ChangedGraphs, call_of, graphs_of, with_graphs
from gnomon.ops.index_primitives import is_index
from gnomon.passes.calls import leaves_like, results_by_call, shared

CHECKED = frozenset({"gather", "scatter", "region"})
"""Operations that check positions, or may, and therefore stay inside of loops."""


def hoist(graph: Graph) -> Graph:
    """The graph with loop-invariant values computed before its loops."""
    if not results_by_call(graph.nodes):
        return graph
    inner = ChangedGraphs(hoist)
    calls: dict[tuple[Any, ...], Freed] = {}

    def rebuild(arena: Arena, node: Node, inputs: tuple[Node, ...]) -> Node:
        if node.op not in CONTROL:
            return arena.with_inputs(node, inputs)
        call = call_of(node)
        if call not in calls:
            calls[call] = hoisted(node, inputs, with_graphs(shared(node.params), inner))
        made = calls[call]
        return arena.node(node.op, made.inputs, **made.params, index=node.params["index"])

    return remade(graph, rebuild)


class Freed(NamedTuple):
    """A call without loop-invariant values inside: its inputs, and its parameters but `index`."""

    inputs: tuple[Node, ...]
    params: dict[str, Any]


def hoisted(node: Node, inputs: tuple[Node, ...], params: dict[str, Any]) -> Freed:
    """A call whose loop-invariant nodes are computed before it and passed in as constants."""
    arena = inputs[0].arena
    if node.op == "cond":
        return Freed(inputs, params)
    start = params["carried"] + params.get("sliced", 0)
    alike = {
        name: same_in_all_iterations(graph, graph.inputs[start:])
        for name, graph in graphs_of(params).items()
    }
    before: dict[Node, None] = {}
    places: dict[str, dict[Node, Node]] = {}
    for name, graph in graphs_of(params).items():
        outside = dict(zip(graph.inputs[start:], inputs[start:], strict=True))
        made = copy_into(arena, alike[name], outside)
        places[name] = dict(zip(alike[name], made, strict=True))
        before.update(dict.fromkeys(made))
    if not before:
        return Freed(inputs, params)
    graphs = {name: reading(g, places[name], list(before)) for name, g in graphs_of(params).items()}
    return Freed((*inputs, *before), {**params, **graphs})


def same_in_all_iterations(graph: Graph, constants: Sequence[Node]) -> list[Node]:
    """The loop-invariant nodes that others, or outputs, read, as far as they take work."""
    alike, resting = set(constants), set(constants)
    for node in graph.nodes:
        if node.op == "input" or node.op in CHECKED or node.op in CONTROL:
            continue
        if all(x in alike for x in node.inputs):
            alike.add(node)
            # numbers that rest on no input are folded where they are used
            if any(x in resting for x in node.inputs):
                resting.add(node)
    return nearest(graph.outputs, {x for x in resting if not is_index(x) and x.op != "input"})


def reading(graph: Graph, places: dict[Node, Node], before: Sequence[Node]) -> Graph:
    """A graph with further inputs, which it reads instead of computing these nodes."""
    arena = Arena()
    leaves = leaves_like(arena, [*graph.inputs, *before])
    known = dict(zip(graph.inputs, leaves, strict=False))
    own = dict(zip(before, leaves[len(graph.inputs) :], strict=True))
    known.update((x, own[made]) for x, made in places.items())
    return Graph(leaves, copy_into(arena, graph.outputs, known))
