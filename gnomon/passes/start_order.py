"""Fix the order in which ranks start collectives, by the program's structure alone.

Ranks with different numbers of rows run programs of the same structure with other sizes. A
scheduler that weighs sizes would start transfers in a different order on each rank, so the order is
fixed here: a collective follows the one before it. No value depends on it, and no size is read.

An eager program's structure differs too: a rank that has printed a value is given it, while others
compute it. Such a value depends on no collective, since ranks communicate at the collective's call.
So the order is made of nodes that no rank can already have: collectives, and values computed from
their results.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import scope
from gnomon.ops.collectives import MEETINGS
from gnomon.passes.strategies import CARRIERS

__all__ = ["has_own_rows", "in_start_order"]

AHEAD = 2
"""The number of steps by which parameters are gathered before they are first read."""
LONG = frozenset({"contract", "region", *MEETINGS})
"""Operations that count as a step of time; others take none."""


def has_own_rows(graph: Graph, mesh: str | None = None) -> bool:
    """Whether a program has rows of which each rank says for itself how many it gave.

    mesh: the mesh axis; None: any.
    """
    placed = (x.params["layout"] for x in graph if x.op == "place" and "own" in x.params)
    return any(mesh in (None, name) for layout in placed for name, _, _ in layout)


def in_start_order(graph: Graph, ranks_differ: bool = False) -> Graph:
    """The graph in which each collective waits for the one that ranks start before it.

    ranks_differ: whether some ranks may already have values that others compute in this program.
    """
    if sum(map(meets, graph.nodes)) < 2:
        return graph
    arena = Arena()
    images: dict[Node, Node] = {}
    latest: tuple[Node, ...] = ()
    before = scope.sites
    try:
        for node in graph.inputs:
            scope.sites = node.sites
            images[node] = arena.input(node.shape, node.dtype, node.params["name"])
        for node in start_order(graph, ranks_differ):
            scope.sites = node.sites
            read = tuple(images[x] for x in node.inputs)
            if meets(node):
                read += tuple(x for x in latest if x not in read[1:])
            images[node] = arena.with_inputs(node, read)
            latest = (images[node],) if meets(node) else latest
    finally:
        scope.sites = before
    return Graph([images[x] for x in graph.inputs], [images[x] for x in graph.outputs])


def start_order(graph: Graph, ranks_differ: bool = False) -> list[Node]:
    """The nodes in an order in which they can run; collectives run when nothing else can."""
    nodes = [node for node in graph.nodes if node.op != "input"]
    due = when_due(nodes, ranks_differ)
    place = {node: number for number, node in enumerate(nodes)}
    readers: dict[Node, list[Node]] = {}
    left: dict[Node, int] = {}
    for node in nodes:
        inside = {x for x in node.inputs if x in due}
        left[node] = len(inside)
        for x in inside:
            readers.setdefault(x, []).append(node)
    ready = [(due[node], place[node], node) for node in nodes if not left[node]]
    heapify(ready)
    found: list[Node] = []
    while ready:
        _, _, node = heappop(ready)
        found.append(node)
        for reader in readers.get(node, ()):
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, (due[reader], place[reader], reader))
    return found


def when_due(nodes: Sequence[Node], ranks_differ: bool) -> dict[Node, tuple[bool, int]]:
    """For each node, whether it is a collective, and the step in which it should run.

    A step is a product or a message, and a node's step is the length of the longest chain of them
    before it; where ranks differ, counted from the first message on. Gathers of parameters alone
    are due shortly before their first reader.
    """
    counted = {*nodes} if not ranks_differ else behind_messages(nodes)
    due: dict[Node, int] = {}
    steps: dict[Node, int] = {}
    """Node -> the step in which its result is ready."""
    gathered: dict[Node, Node] = {}
    """View of a unit's parameters -> the node that gathered them."""
    need: dict[Node, int] = {}
    for node in nodes:
        due[node] = start = max((steps.get(x, 0) for x in node.inputs), default=0)
        is_long = node.op in LONG and node in counted and not is_prefetched(node)
        steps[node] = start + is_long
        shows = node.op in CARRIERS and node.inputs[0] in gathered
        for x in () if shows else node.inputs:
            if x in gathered:
                need[gathered[x]] = min(need.get(gathered[x], start), start)
        if shows or is_prefetched(node):
            gathered[node] = gathered[node.inputs[0]] if shows else node
    return {x: (meets(x), need[x] - AHEAD if x in need else due[x]) for x in nodes}


def behind_messages(nodes: Sequence[Node]) -> set[Node]:
    """The nodes that are collectives or depend on one."""
    found: set[Node] = set()
    for node in nodes:
        if meets(node) or not found.isdisjoint(node.inputs):
            found.add(node)
    return found


def is_prefetched(node: Node) -> bool:
    """Whether a collective gathers the parameters of a unit, so that it may start early."""
    return node.op == "all_gather" and "unit" in node.params


def meets(node: Node) -> bool:
    """Whether ranks exchange messages for a node; none do for a shift by 0."""
    p = node.params
    return node.op in MEETINGS and p["ranks"] > 1 and p.get("shift", 1) != 0
