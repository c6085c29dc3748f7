"""Partition: the division of a graph into kernels, decided step by step, on one screen.

cluster        each node joins what it reads, is left to its readers, or opens a cluster
join           clusters that read one tensor become one
rematerialize  readers recompute a value whose operands they load anyway
forget         a node that nobody reads any more leaves its cluster
cut            a kernel becomes two, where that is measured to be faster
epilogues      products compute what is pointwise on their sums
prologues      products compute their left factor while they copy it

A step moves nodes in place, and returns its decisions and refusals. No step changes a bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gnomon.ir.node import Graph, Node
from gnomon.schedule.clustering import Clustering
from gnomon.schedule.cut import cut
from gnomon.schedule.epilogue import fuse_epilogues
from gnomon.schedule.fusion import Decision, Judge
from gnomon.schedule.join import join
from gnomon.schedule.placed import Placed
from gnomon.schedule.prologue import Opens, fuse_prologues
from gnomon.schedule.rematerialization import rematerialize

__all__ = ["partition_of"]


class FusionRules(NamedTuple):
    """The inputs of fusion decisions: measurements, and abilities of matrix-product kernels."""

    judge: Judge | None
    carries: Callable[[Node], bool] | None
    opens: Opens | None


PartitionStep = Callable[[Placed, FusionRules], Sequence[Decision]]

STEPS: tuple[tuple[str, PartitionStep], ...] = (
    ("join", lambda placed, by: join(placed, by.judge)),
    ("rematerialize", lambda placed, by: rematerialize(placed, by.judge)),
    ("fuse", lambda placed, by: placed.forget_unread() or ()),
    ("fuse", lambda placed, by: cut(placed, by.judge) if by.judge else ()),
    ("epilogues", lambda placed, by: fuse_epilogues(placed, by.carries, by.judge)),
    ("prologues", lambda placed, by: fuse_prologues(placed, by.opens, by.judge)),
)
"""The steps after clustering, each with the optimisation that enables it."""


def partition_of(
    graph: Graph,
    allows: Callable[[str], bool] = lambda name: True,
    carries: Callable[[Node], bool] | None = None,
    judge: Judge | None = None,
    opens: Opens | None = None,
) -> Placed:
    """The clusters of a graph after all steps that are allowed, with all decisions in order."""
    placed, rules = Clustering(graph, allows("fuse")), FusionRules(judge, carries, opens)
    for name, step in STEPS if allows("fuse") else ():
        if allows(name):
            placed.decisions += step(placed, rules)
    return placed
