"""Outlines of graphs: what one program at several shapes has in common."""

from __future__ import annotations

from functools import lru_cache

from gnomon.ir.memo import memo
from gnomon.ir.node import Graph, digest

__all__ = ["outline"]


@memo
@lru_cache(maxsize=1024)
def outline(graph: Graph) -> str:
    """A content hash of a graph without its sizes: equal for one program at several shapes."""
    place = {node: k for k, node in enumerate((*graph.inputs, *graph.nodes))}
    rows = [
        (node.op, tuple(place[x] for x in node.inputs), tuple(map(unsized, node.params.values())))
        for node in graph.nodes
    ]
    leaves = tuple((leaf.rank, leaf.dtype.name) for leaf in graph.inputs)
    return digest((leaves, tuple(rows), tuple(place[x] for x in graph.outputs)))


def unsized(value: object) -> object:
    """The part of a parameter that is the same at every shape."""
    if isinstance(value, Graph):
        return outline(value)
    return value if isinstance(value, str | bool) else None
