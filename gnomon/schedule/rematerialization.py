"""Rematerialization: readers recompute a value whose operands they load in any case.

A product of two tensors need not be stored for a kernel that loads both of them, nor an exponential
for one that loads its argument: memory is slower than arithmetic, and values that a gradient reads
live long. A value stays stored if recomputing costs its readers more than it saves.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.ops.scalars import SCALARS
from gnomon.schedule.cluster import ELSEWHERE, Cluster
from gnomon.schedule.fusion import Fusion, Judge, Weighed
from gnomon.schedule.glance import Reading
from gnomon.schedule.memory import nbytes
from gnomon.schedule.placed import Placed

COSTLY = "it takes long to recompute"
GONE = "what it is made of is not kept"
MORE = "its readers would read more than they spare"
FUNCTION = 2
"""The bytes of memory traffic that take as long as one step of a costly function."""


def rematerialize(placed: Placed, judge: Judge | None = None) -> list[Weighed]:
    """Recompute elementwise values in the clusters that read them, where that costs less."""
    home, readers = placed.home, placed.readers
    decisions: list[Weighed] = []
    for node in sorted(home, key=lambda x: x.serial, reverse=True):
        if node.op != "map" or node in placed.required:
            continue
        outside = [x for x in readers.get(node, ()) if home[x] is not home[node]]
        if not outside:
            continue
        spared = Rematerialized(node, outside, placed)
        refused, found = spared.refused(), None
        if judge and spared.bytes > 0:
            apart = nbytes(node) * (1 + len({home[x] for x in outside}))
            moved = apart, apart - spared.bytes
            found = Fusion(node, tuple(outside), *moved, refused, "recompute")
            found = judge(placed, found, expand)
            refused = found.refused
        decisions += [Weighed("recompute", node, node, x, refused, found) for x in outside]
        if not refused:
            expand(placed, node, outside)
    return decisions


def expand(placed: Placed, node: Node, outside: Sequence[Node]) -> None:
    """Inline a value into readers in other clusters, which then read its operands."""
    reads, readers = placed.reads, placed.readers
    placed.rematerialized.add(node)
    for reader in outside:
        reads[reader] = expanded(reads[reader], node, reads[node])
        makers = {placed.home[r.node] for r in reads[node] if r.node in placed.home}
        placed.home[reader].needs |= makers - {placed.home[reader]}
    for r in reads[node]:
        readers.setdefault(r.node, []).extend(outside)
    readers[node] = [x for x in readers[node] if x not in outside]


class Rematerialized:
    """A value and its readers in other clusters."""

    def __init__(self, node: Node, outside: list[Node], placed: Placed) -> None:
        self.node, self.outside, self.home, self.reads = node, outside, placed.home, placed.reads
        self.bytes = 0
        """Number of bytes that recomputing the value would save; 0 where it cannot be recomputed.
        """

    def refused(self) -> str:
        """The reason why readers do not recompute the value; empty if they do.

        A fold, which costs a whole row's work for each element, is never computed twice.
        """
        own, scalar = self.home[self.node], SCALARS[self.node.params["f"]]
        same = (r for x in self.outside for r in self.reads[x])
        if own.opaque or own.members[self.node]:
            return COSTLY
        if not all(r.same for r in same if r.node is self.node):
            return ELSEWHERE
        if not self._can_be_read():
            return GONE
        clusters = {self.home[x]: None for x in self.outside}
        spared = nbytes(self.node) * (1 + len(clusters))
        spared -= sum(self._added(cluster) for cluster in clusters)
        self.bytes = spared = hint(spared)
        if scalar.costly and spared > 0:
            spent = len(clusters) * FUNCTION * scalar.steps * hint(self.node.size)
            return "" if spared > spent else COSTLY
        return "" if spared > 0 else MORE

    def _can_be_read(self) -> bool:
        """Whether every value it is computed from has a buffer in any case, or is one per row."""
        own = self.home[self.node]
        return all(
            self.home.get(r.node) is not own or own.members[r.node] or self._leaves(r.node)
            for r in self.reads[self.node]
        )

    def _leaves(self, x: Node) -> bool:
        """Whether another cluster reads a value."""
        own = self.home[x]
        return any(
            r.node is x
            for cluster in {self.home[y] for y in self.outside} - {own}
            for member in cluster.members
            for r in self.reads.get(member, ())
        )

    def _added(self, cluster: Cluster) -> int:
        """The bytes that a reading cluster loads only to recompute the value."""
        loaded = {
            r.node
            for x in cluster.members
            for r in self.reads.get(x, ())
            if r.node is not self.node
        }
        wanted = {r.node for r in self.reads[self.node]} - loaded - {*cluster.members}
        return sum(nbytes(x) for x in wanted)


def expanded(reads: list[Reading], node: Node, parts: list[Reading]) -> list[Reading]:
    """Readings with those of a node replaced by what it reads itself."""
    found = [r for r in reads if r.node is not node]
    return [*found, *(r for r in parts if r not in found)]
