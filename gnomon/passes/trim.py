"""Remove results of conditionals and loops that are not read, and inputs that they do not read.

A value that a loop carries only for itself counts as unread, and one that every iteration returns
unchanged is not carried. Other nodes need no trimming: a graph holds no node that its outputs do
not need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ir.provenance import inherit
from gnomon.ops.control_primitives import CONTROL, call_of, with_graphs
from gnomon.passes.calls import results_by_call, shared


@dataclass(frozen=True)
class Kept:
    """A trimmed call: the numbers of its inputs and results that are left, and its parameters."""

    inputs: tuple[int, ...]
    results: tuple[int, ...]
    params: dict[str, Any]
    same: frozenset[int] = frozenset()
    """Numbers of results that equal the inputs of the same number."""


def trim(graph: Graph) -> Graph:
    """The graph without unread results of calls, in the graphs inside of it too."""
    calls = results_by_call(graph.nodes)
    if not calls:
        return graph
    alive = set(graph.outputs)
    kept: dict[tuple[Any, ...], Kept] = {}
    for node in reversed(graph.nodes):
        if node.op not in CONTROL:
            if node in alive:
                alive.update(node.inputs)
            continue
        results = [x for x in calls.get(node, ()) if x in alive]
        if results:
            found = TRIMMED[node.op](node, sorted(x.params["index"] for x in results))
            kept[call_of(node)] = found
            alive.update(node.inputs[k] for k in (*found.inputs, *found.same))
    return trim_calls(graph, alive, kept)


def trim_calls(graph: Graph, alive: set[Node], kept: dict[tuple[Any, ...], Kept]) -> Graph:
    """The graph with its calls trimmed."""
    arena = Arena()
    known: dict[Node, Node] = {}
    for node in topological([*graph.inputs, *graph.outputs]):
        with inherit(node.sites):
            if node.op == "input":
                known[node] = arena.input(node.shape, node.dtype, node.params["name"])
            elif node in alive:
                known[node] = rebuild(arena, node, known, kept)
    return Graph([known[x] for x in graph.inputs], [known[x] for x in graph.outputs])


def rebuild(
    arena: Arena, node: Node, known: dict[Node, Node], kept: dict[tuple[Any, ...], Kept]
) -> Node:
    """A node over new inputs; a trimmed call in place of a call."""
    if node.op not in CONTROL:
        return arena.node(node.op, tuple(known[x] for x in node.inputs), **node.params)
    left = kept[call_of(node)]
    if node.params["index"] in left.same:
        return known[node.inputs[node.params["index"]]]
    inputs = tuple(known[node.inputs[k]] for k in left.inputs)
    index = left.results.index(node.params["index"])
    return arena.node(node.op, inputs, **left.params, index=index)


def read_by(outputs: Iterable[Node]) -> set[Node]:
    """The nodes on which these outputs depend, the outputs among them."""
    return set(topological(outputs))


def subgraph(graph: Graph, inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
    """A graph cut down to the inputs and outputs of these numbers."""
    return Graph([graph.inputs[k] for k in inputs], [graph.outputs[k] for k in outputs])


def trimmed_choice(node: Node, results: list[int]) -> Kept:
    """A conditional trimmed to these results."""
    graphs = [node.params[name] for name in ("then", "other")]
    reads = [read_by(graph.outputs[k] for k in results) for graph in graphs]
    pairs = enumerate(zip(*(graph.inputs for graph in graphs), strict=True))
    inputs = [k for k, pair in pairs if any(x in r for x, r in zip(pair, reads, strict=True))]
    params = with_graphs(shared(node.params), lambda g: trim(subgraph(g, inputs, results)))
    return Kept((0, *(k + 1 for k in inputs)), tuple(results), params)


def carried_for(node: Node, results: Iterable[int], others: Iterable[Node]) -> list[int]:
    """The carried values that a loop needs for these results and these other outputs."""
    body, count = node.params["body"], node.params["carried"]
    others, live, before = list(others), set(results), None
    while live != before:
        before = set(live)
        reads = read_by([*others, *(body.outputs[k] for k in live)])
        live |= {k for k in range(count) if body.inputs[k] in reads}
        live |= {k for k in range(count) if "test" in node.params and test_reads(node, k)}
    return sorted(live)


def test_reads(node: Node, k: int) -> bool:
    """Whether the condition of a loop reads its k-th input."""
    test = node.params["test"]
    return test.inputs[k] in test.nodes


def unchanged(node: Node, live: Iterable[int]) -> list[int]:
    """The carried values among `live` that the body returns unchanged."""
    body = node.params["body"]
    return [k for k in live if body.outputs[k] is body.inputs[k]]


def trimmed_while(node: Node, results: list[int]) -> Kept:
    """A while loop trimmed to these results."""
    body, count = node.params["body"], node.params["carried"]
    live = carried_for(node, results, ())
    same = unchanged(node, live)
    moving = [k for k in live if k not in same]
    reads = read_by(body.outputs[k] for k in moving)
    rest = (*same, *range(count, len(node.inputs)))
    inputs = [*moving, *(k for k in rest if body.inputs[k] in reads or test_reads(node, k))]
    graphs = {
        "test": trim(subgraph(node.params["test"], inputs, [0])),
        "body": trim(subgraph(body, inputs, moving)),
    }
    return Kept(tuple(inputs), tuple(moving), {"carried": len(moving), **graphs}, frozenset(same))


def trimmed_scan(node: Node, results: list[int]) -> Kept:
    """A loop over slices trimmed to these results."""
    p, body = node.params, node.params["body"]
    carried, end = p["carried"], p["carried"] + p["sliced"]
    rows = [k for k in results if k >= carried]
    live = carried_for(node, (k for k in results if k < carried), (body.outputs[k] for k in rows))
    same = unchanged(node, live)
    moving = [k for k in live if k not in same]
    reads = read_by(body.outputs[k] for k in (*moving, *rows))
    slices, rest = (
        [k for k in places if body.inputs[k] in reads]
        for places in (range(carried, end), (*same, *range(end, len(node.inputs))))
    )
    inputs, outputs = [*moving, *slices, *rest], [*moving, *rows]
    params = {**shared(p), "carried": len(moving), "sliced": len(slices)}
    params["body"] = trim(subgraph(body, inputs, outputs))
    return Kept(tuple(inputs), tuple(outputs), params, frozenset(same))


def trimmed_fold(node: Node, results: list[int]) -> Kept:
    """A folding loop over two slices trimmed to these results."""
    p, body = node.params, node.params["body"]
    reads = read_by(body.outputs[k] for k in results)
    inputs = [k for k, x in enumerate(body.inputs) if x in reads]
    params = {**shared(p), "sliced": sum(k < p["sliced"] for k in inputs)}
    params["folds"] = tuple(f for k, f in enumerate(p["folds"]) if k in results)
    params["body"] = trim(subgraph(body, inputs, results))
    return Kept(tuple(inputs), tuple(results), params)


TRIMMED: dict[str, Callable[[Node, list[int]], Kept]] = {
    "cond": trimmed_choice,
    "while": trimmed_while,
    "scan_over": trimmed_scan,
    "fold_over": trimmed_fold,
}
"""Primitive -> the function that trims its call to the results that are read."""
