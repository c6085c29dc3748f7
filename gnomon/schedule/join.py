"""Clusters that read the same tensor become one, so that it is read once.

Each node joined a cluster that computes something it reads (partition.py); here clusters meet that
have an operand in common and the same domain: the two running means of an optimizer, which both
read a gradient, or both halves of a rotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon.ir.node import Node
from gnomon.schedule.cluster import MEMBERS, Cluster, closure, is_chain
from gnomon.schedule.glance import Reading

Reads = Mapping[Node, Sequence[Reading]]


def join(clusters: list[Cluster], home: dict[Node, Cluster], reads: Reads) -> None:
    """Merge, in place, clusters that read the same; later ones go into earlier ones."""
    for sharers in shared(home, reads).values():
        merged: list[Cluster] = []
        for cluster in dict.fromkeys(home[node] for node in sharers):
            first = next((c for c in merged if may_merge(c, cluster, home, reads)), None)
            if first is None:
                merged.append(cluster)
            else:
                merge(first, cluster, clusters, home)


def shared(home: Mapping[Node, Cluster], reads: Reads) -> dict[Node, list[Node]]:
    """Tensors as large as the domain that reads them, and by which members they are read."""
    found: dict[Node, list[Node]] = {}
    for node, cluster in home.items():
        for reading in reads.get(node, ()):
            wide = reading.node.size >= cluster.size > 1 and not reading.picked
            if wide and not cluster.opaque:
                found.setdefault(reading.node, []).append(node)
    return found


def may_merge(a: Cluster, b: Cluster, home: Mapping[Node, Cluster], reads: Reads) -> bool:
    """Whether one kernel may compute two clusters, row by row."""
    if (a.rows, a.inner) != (b.rows, b.inner) or len(a.members) + len(b.members) > MEMBERS:
        return False
    if any(is_chain(x) for x in (*a.members, *b.members)):
        return False
    for one, other in ((a, b), (b, a)):
        met = (r for x in one.members for r in reads[x] if home.get(r.node) is other)
        if not all(r.row if other.members[r.node] else r.same for r in met):
            return False
    return not any(
        other in closure(c) for one, other in ((a, b), (b, a)) for c in one.needs if c is not other
    )


def merge(a: Cluster, b: Cluster, clusters: list[Cluster], home: dict[Node, Cluster]) -> None:
    """Put b's members into a."""
    a.members.update(b.members)
    home.update(dict.fromkeys(b.members, a))
    a.needs = (a.needs | b.needs) - {a, b}
    clusters.remove(b)
    for other in clusters:
        if b in other.needs:
            other.needs = (other.needs - {b}) | {a}
