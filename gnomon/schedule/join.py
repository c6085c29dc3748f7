"""Merge clusters that read the same tensor, so that it is read once.

Each node was put into a cluster that computes one of its operands (partition.py). Here clusters of
the same domain that share an operand are merged: the two running means of an optimizer, which both
read a gradient, or both halves of a rotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.schedule.cluster import (
    DEEP,
    ELSEWHERE,
    FULL,
    LATER,
    MEMBERS,
    SPACE,
    Cluster,
    is_chain,
)
from gnomon.schedule.cluster_order import ClusterOrder
from gnomon.schedule.fusion import Fusion, Judge, Weighed
from gnomon.schedule.glance import Reading
from gnomon.schedule.memory import nbytes
from gnomon.schedule.placed import Placed

Feeds = dict[Cluster, dict[Cluster, None]]
"""Cluster -> the clusters that read its results."""
KnownReadings = Mapping[Node, Sequence[Reading]]
CHAINS = "one folds in chains"


def join(placed: Placed, judge: Judge | None = None) -> list[Weighed]:
    """Merge, in place, clusters that read the same tensor; later ones go into earlier ones."""
    home, reads, decisions = placed.home, placed.reads, list[Weighed]()
    order, feeds = ClusterOrder(placed.ordered()), feeds_of(placed.clusters)
    for value, sharers in shared(home, reads).items():
        merged: dict[Cluster, Node] = {}
        for node in sharers:
            cluster = home[node]
            if cluster in merged:
                continue
            weighed = None
            for first, other in merged.items():
                why = why_apart(first, cluster, home, reads, order)
                weighed = Weighed("share", value, other, node, why)
                if judge and not weighed.refused:
                    size = nbytes(value)
                    fusion = Fusion(other, (node,), 2 * size, size, "", "share")
                    found = judge(placed, fusion, merge_alone)
                    weighed = weighed._replace(refused=found.refused, judged=found)
                if not weighed.refused:
                    merge(placed, other, node, order, feeds)
                    break
            if weighed:
                decisions.append(weighed)
            if not weighed or weighed.refused:
                merged[cluster] = node
    return decisions


def shared(home: Mapping[Node, Cluster], reads: KnownReadings) -> dict[Node, list[Node]]:
    """Tensors as large as the domain that reads them -> the nodes that read them."""
    found: dict[Node, list[Node]] = {}
    for node, cluster in home.items():
        for reading in reads.get(node, ()):
            wide = hint(reading.node.size) >= hint(cluster.size) > 1 and not reading.picked
            if wide and not cluster.opaque:
                found.setdefault(reading.node, []).append(node)
    return found


def why_apart(
    a: Cluster, b: Cluster, home: Mapping[Node, Cluster], reads: KnownReadings, order: ClusterOrder
) -> str:
    """The reason why one kernel cannot compute two clusters, row by row; empty where it can."""
    if (a.rows, a.inner) != (b.rows, b.inner):
        return SPACE
    if len(a.members) + len(b.members) > MEMBERS:
        return FULL
    # most are not deep even above each other, and need no second look
    if a.depth + b.depth > DEEP and joint_depth(a, b, home, reads) > DEEP:
        return FULL
    if any(is_chain(x) for x in (*a.members, *b.members)):
        return CHAINS
    for one, other in ((a, b), (b, a)):
        met = (r for x in one.members for r in reads[x] if home.get(r.node) is other)
        if not all(r.row if other.members[r.node] else r.same for r in met):
            return ELSEWHERE
    pairs = ((a, b), (b, a))
    return LATER if any(order.waits_for(one.needs, other) for one, other in pairs) else ""


def joint_depth(a: Cluster, b: Cluster, home: Mapping[Node, Cluster], reads: KnownReadings) -> int:
    """The depth of two clusters merged: the sum if one reads the other, else the larger."""
    pairs = ((a, b), (b, a))
    stacked = any(
        home.get(r.node) is y for x, y in pairs for node in x.members for r in reads[node]
    )
    return a.depth + b.depth if stacked else max(a.depth, b.depth)


def feeds_of(clusters: Iterable[Cluster]) -> Feeds:
    """For each cluster, the clusters that read its results."""
    found: Feeds = {}
    for cluster in clusters:
        for needed in cluster.needs:
            found.setdefault(needed, {})[cluster] = None
    return found


def merge_alone(placed: Placed, node: Node, others: Sequence[Node]) -> None:
    """Merge another node's cluster into a node's, as the only merge."""
    order, feeds = ClusterOrder(placed.ordered()), feeds_of(placed.clusters)
    merge(placed, node, others[0], order, feeds)


def merge(placed: Placed, node: Node, other: Node, order: ClusterOrder, feeds: Feeds) -> None:
    """Merge another node's cluster into a node's, and update the order and the readers."""
    a, b = placed.home[node], placed.home[other]
    a.depth = joint_depth(a, b, placed.home, placed.reads)
    a.members.update(b.members)
    placed.home.update(dict.fromkeys(b.members, a))
    placed.clusters.remove(b)
    for reader in feeds.pop(b, {}):
        reader.needs.discard(b)
        if reader is not a:
            need(reader, a, order, feeds)
    for needed in b.needs:
        del feeds[needed][b]
        if needed is not a:
            need(a, needed, order, feeds)


def need(cluster: Cluster, needed: Cluster, order: ClusterOrder, feeds: Feeds) -> None:
    """Add a dependence of a cluster on another one."""
    if needed not in cluster.needs:
        order.need(cluster, needed)
        feeds.setdefault(needed, {})[cluster] = None
