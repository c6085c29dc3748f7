"""The state of a partition: clusters, readings, and the nodes that must be stored.

Kernels are generated from this, and fusions change it in place; decisions are made in partition.py
and the files it calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnomon.forking import cached_property
from gnomon.ir.node import Graph, Node
from gnomon.schedule.cluster import Cluster, has_epilogue
from gnomon.schedule.glance import Reading

if TYPE_CHECKING:
    from gnomon.schedule.fusion import Decision


class Placed:
    """A graph's nodes in clusters, which the steps of a partition change in place."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.users = graph, count_users(graph)
        self.clusters: list[Cluster] = []
        self.home: dict[Node, Cluster] = {}
        self.reads: dict[Node, list[Reading]] = {}
        self.bases: dict[Node, Sequence[Node]] = {}
        """Opaque node -> the stored values behind its operands."""
        self.results = {x for x in graph.outputs if x.op != "input"}
        self.required: set[Node] = {*self.results}
        """Nodes that are stored whatever fusion decides: results, and operands of opaque calls."""
        self.rematerialized: set[Node] = set()
        """Values that their readers' kernels recompute, instead of reading them from memory."""
        self.decisions: list[Decision] = []
        """The decisions and refusals so far, without the obvious ones."""

    def read_by(self, node: Node) -> Sequence[Node]:
        """The nodes that a node of a cluster reads."""
        return self.bases[node] if node in self.bases else [r.node for r in self.reads[node]]

    @cached_property
    def readers(self) -> dict[Node, list[Node]]:
        """Node -> the nodes of clusters that read it."""
        found: dict[Node, list[Node]] = {}
        for node in self.home:
            for x in dict.fromkeys(self.read_by(node)):
                found.setdefault(x, []).append(node)
        return found

    def is_stored(self, x: Node) -> bool:
        """Whether a node of a cluster has a buffer."""
        own = self.home.get(x)
        return x in self.required or any(self.home[y] is not own for y in self.readers.get(x, ()))

    def forget_unread(self) -> None:
        """Remove nodes without readers from clusters: the former readers recompute them."""
        wanted = set(self.required)
        for node in reversed(list(self.home)):
            if node in self.bases:
                wanted.update((node, *self.bases[node]))
            elif node in wanted:
                wanted.update(r.node for r in self.reads[node])
        for node in [x for x in self.home if x not in wanted]:
            del self.home.pop(node).members[node]
        empty = {c for c in self.clusters if not c.members}
        self.clusters[:] = [c for c in self.clusters if c not in empty]
        for cluster in self.clusters:
            cluster.needs -= empty
        self.__dict__.pop("readers", None)

    @cached_property
    def stored(self) -> dict[Node, None]:
        """The nodes that get buffers, in the graph's order, once all is decided."""
        crossing = set(self.required)
        for node in self.home:
            for reading in self.reads.get(node, ()):
                home = self.home.get(reading.node)
                if home is not None and home is not self.home[node]:
                    crossing.add(reading.node)
            if node in self.bases and not has_epilogue(self.home[node]):
                crossing.add(node)
        return {node: None for node in self.graph.nodes if node in crossing}

    def ordered(self) -> list[Cluster]:
        """The clusters in topological order, otherwise in the graph's."""
        done: dict[Cluster, None] = {}

        def visit(cluster: Cluster) -> None:
            if cluster in done:
                return
            for needed in sorted(cluster.needs, key=places.__getitem__):
                visit(needed)
            done[cluster] = None

        places = {cluster: k for k, cluster in enumerate(self.clusters)}
        for cluster in self.clusters:
            visit(cluster)
        return list(done)


def count_users(graph: Graph) -> dict[Node, int]:
    """The number of each node's readers; a result counts as one more."""
    users = dict.fromkeys(graph.nodes, 0)
    for node in graph.nodes:
        for x in node.inputs:
            users[x] += 1
    for out in graph.outputs:
        users[out] += 1
    return users
