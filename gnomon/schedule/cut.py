"""Cut loop kernels in two where a measurement finds that faster.

Memory traffic never asks for a cut: values that one kernel both computes and reads cost none. Time
may, where a kernel computes much at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from gnomon.ir.node import Node
from gnomon.schedule.cluster import Cluster, is_chain
from gnomon.schedule.fusion import Fusion, Judge, Weighed
from gnomon.schedule.memory import nbytes
from gnomon.schedule.placed import Placed


def cut(placed: Placed, judge: Judge) -> list[Weighed]:
    """Cut kernels in two, in place, wherever a judge finds that faster; parts may be cut again."""
    waiting = list(placed.clusters)
    decisions: list[Weighed] = []
    while waiting:
        cluster = waiting.pop()
        found = min(cuts(placed, cluster), key=lambda each: each.apart, default=None)
        if found is None:
            continue
        fusion = judge(placed, found, split)
        kept = {*cluster.members} - {*fusion.nodes}
        decisions += [
            Weighed("join", r, r, x, fusion.refused, fusion)
            for x in fusion.nodes
            for r in dict.fromkeys(placed.read_by(x))
            if r in kept
        ]
        if fusion.refused:
            split(placed, fusion.maker, fusion.nodes)
            waiting += [placed.home[fusion.maker], placed.home[fusion.nodes[0]]]
    return decisions


def cuts(placed: Placed, cluster: Cluster) -> Iterator[Fusion]:
    """Yield the splits of a cluster: some members run first, and store what the others need."""
    members = sorted(cluster.members, key=lambda x: x.serial)
    if cluster.opaque or any(map(is_chain, members)):
        return
    whole = read(placed, members)
    for k in range(1, len(members)):
        first, later = members[:k], members[k:]
        met = {x for each in later for x in placed.read_by(each)}.intersection(first)
        new = {x for x in met if not placed.is_stored(x)}
        nests = is_nest(cluster, first) and is_nest(cluster, later)
        if met and nests and placed.rematerialized.isdisjoint(new):
            both = sum(map(nbytes, (*read(placed, first), *read(placed, later))))
            together = sum(map(nbytes, whole))
            yield Fusion(
                first[-1], tuple(later), both + sum(map(nbytes, new)), together, "", "join"
            )


def read(placed: Placed, nodes: Sequence[Node]) -> set[Node]:
    """The nodes that some nodes read, without these nodes."""
    return {x for each in nodes for x in placed.read_by(each)} - {*nodes}


def is_nest(cluster: Cluster, nodes: Iterable[Node]) -> bool:
    """Whether nodes can be a loop nest: per-row values only together with a reduction."""
    once = [x for x in nodes if cluster.members[x]]
    return not once or any(x.op == "reduce" for x in once)


def split(placed: Placed, maker: Node, nodes: Sequence[Node]) -> None:
    """Move nodes out of the cluster of `maker` into a new one that runs after it."""
    cluster = placed.home[maker]
    members = {x: cluster.members.pop(x) for x in nodes}
    made = replace(cluster, members=members, needs={*cluster.needs, cluster})
    for other in placed.clusters:
        if cluster in other.needs:
            other.needs.add(made)
    placed.clusters.insert(placed.clusters.index(cluster) + 1, made)
    placed.home.update(dict.fromkeys(members, made))
