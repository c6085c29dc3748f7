"""A topological order of clusters, updated while nodes join them.

With a maintained order, a search whether one cluster runs after another visits only the clusters
between the two; programs of many layers have thousands of others.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from gnomon.schedule.cluster import Cluster

__all__ = ["ClusterOrder"]


class ClusterOrder:
    """A topological order of clusters; the first ones are given in such an order."""

    def __init__(self, clusters: Iterable[Cluster] = ()) -> None:
        self.clusters: list[Cluster] = []
        self.place: dict[Cluster, int] = {}
        for cluster in clusters:
            self.open(cluster)

    def open(self, cluster: Cluster) -> None:
        """Append a new cluster, which nothing needs yet."""
        self.place[cluster] = len(self.clusters)
        self.clusters.append(cluster)

    def need(self, cluster: Cluster, needed: Cluster) -> None:
        """Add a dependence and update the order; the needed cluster must not depend on it."""
        cluster.needs.add(needed)
        start, end = self.place[cluster], self.place[needed]
        if end < start:
            return
        # what the other needs of those in between goes with it to the front
        early = {needed, *self._behind([needed], start)}
        between = self.clusters[start : end + 1]
        between.sort(key=lambda each: each not in early)
        self.clusters[start : end + 1] = between
        self.place.update(zip(between, range(start, end + 1), strict=True))

    def waits_for(self, clusters: Iterable[Cluster], other: Cluster) -> bool:
        """Whether one of some clusters, `other` itself excluded, depends on `other`."""
        least = self.place[other]
        ways: list[int] = []
        found: set[Cluster] = set()
        new: Iterable[Cluster] = clusters
        while True:
            for each in new:
                if (place := self.place[each]) > least and each not in found:
                    if other in each.needs:
                        return True
                    found.add(each)
                    heappush(ways, place)
            if not ways:
                return False
            # what stands nearest to the other is likeliest to lead there
            new = self.clusters[heappop(ways)].needs

    def _behind(self, clusters: Iterable[Cluster], least: int) -> set[Cluster]:
        """Transitive dependencies of clusters that come after position `least`."""
        stack, found = list(clusters), set[Cluster]()
        while stack:
            new = [c for c in stack.pop().needs if c not in found and self.place[c] > least]
            stack += new
            found.update(new)
        return found
