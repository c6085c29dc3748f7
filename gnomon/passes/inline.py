"""Inline regions, except those that a hand-written kernel claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ir.provenance import Site, inherit, scope
from gnomon.ops.control_primitives import CONTROL, ChangedGraphs, with_graphs

Claim = Callable[[Node], bool]


def inline(graph: Graph, claimed: Claim, sites: tuple[Site, ...] | None = None) -> Graph:
    """The graph in an arena of its own, with all regions inlined that are not claimed.

    With `sites`, every node gets these; without, each keeps its own.
    """
    arena = Arena()
    known: dict[Node, Node] = {}
    for leaf in graph.inputs:
        with inherit(leaf.sites):
            known[leaf] = arena.input(leaf.shape, leaf.dtype, leaf.params["name"])
    outputs = Inlining(arena, claimed).expand(graph.outputs, known, sites)
    return Graph([known[leaf] for leaf in graph.inputs], outputs)


class Inlining:
    """Inliner of regions into one arena.

    bodies: per body, inputs and lines, the nodes that were built. A region of several results is a
    node for each of them, and all of them use the nodes that the first has built: opening it again
    for each result would take time exponential in the nesting depth.
    """

    def __init__(self, arena: Arena, claimed: Claim) -> None:
        self.arena, self.claimed = arena, claimed
        self.bodies: dict[tuple[Any, ...], dict[Node, Node]] = {}
        self.graphs: dict[tuple[Site, ...] | None, ChangedGraphs] = {}

    def expand(
        self, roots: Sequence[Node], known: dict[Node, Node], sites: tuple[Site, ...] | None
    ) -> list[Node]:
        """Rebuild roots in the arena; inside a region, nodes carry the region's sites."""
        before = scope.sites
        try:
            for node in topological(roots, known):
                scope.sites = node.sites if sites is None else sites
                inputs = tuple([known[x] for x in node.inputs])
                if node.op == "region" and not self.claimed(node):
                    known[node] = self.opened(node, inputs, sites)
                elif node.op in CONTROL:
                    params = with_graphs(node.params, self.inside(sites))
                    known[node] = self.arena.node(node.op, inputs, **params)
                else:
                    known[node] = self.arena.with_inputs(node, inputs)
        finally:
            scope.sites = before
        return [known[root] for root in roots]

    def inside(self, sites: tuple[Site, ...] | None) -> ChangedGraphs:
        """A function that inlines the graphs nested in a region with these sites."""
        return self.graphs.setdefault(
            sites, ChangedGraphs(lambda body: inline(body, self.claimed, sites))
        )

    def opened(self, node: Node, inputs: tuple[Node, ...], sites: tuple[Site, ...] | None) -> Node:
        """A region's result as nodes of the arena."""
        body: Graph = node.params["body"]
        index: int = node.params["index"]
        result = body.outputs[index]
        named = sites or tuple(site._replace(op=node.params["name"]) for site in node.sites)
        # a captured program's nodes have lines of their own; an operation's have the caller's
        lines = None if result.sites and sites is None else named
        inner = self.bodies.setdefault((body, inputs, lines), {})
        inner.update(zip(body.inputs, inputs, strict=True))
        (image,) = self.expand([result], inner, lines)
        return image
