"""Whether clusters wait for another one, by a search of all that they need. Not a test."""

from __future__ import annotations

from collections.abc import Iterable

from gnomon.schedule.cluster import Cluster


def waits_for(clusters: Iterable[Cluster], other: Cluster) -> bool:
    """Whether one of some clusters, the other aside, runs after the other."""
    stack = [c for c in clusters if c is not other]
    found = set(stack)
    while stack:
        needs = stack.pop().needs
        if other in needs:
            return True
        stack += needs - found
        found |= needs
    return False
