"""A cluster: nodes that one kernel computes, and the clusters that must run before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gnomon.ir.node import Node

MEMBERS = 64
"""The most members of a cluster: with more, registers and compile time suffer."""

DEEP = 128
"""The largest depth of a kernel's expressions, since code is written by recursion."""

SPACE = "they run over different rows and columns"
ELSEWHERE = "it is read at other places than where it is made"
LATER = "another kernel must run in between"
READ = "a kernel of its own reads it from memory"
FULL = f"a kernel has at most {MEMBERS} members, {DEEP} values deep"
"""Reasons for which nodes are not computed in one kernel."""


@dataclass(eq=False)
class Cluster:
    """Nodes that one kernel computes; an opaque cluster contains a single call."""

    rows: int
    inner: int
    opaque: bool = False
    members: dict[Node, bool] = field(default_factory=dict[Node, bool])
    """Member -> whether it has one value per row, in place of one per element."""
    needs: set[Cluster] = field(default_factory=lambda: set[Cluster]())
    """Clusters that must run before this one, direct dependencies only."""
    depth: int = 0
    """The largest depth of its expressions, in values."""
    before: set[Node] = field(default_factory=set[Node])
    """Members of a product's prologue: its left factor, and nodes that only the factor needs."""

    @property
    def size(self) -> int:
        """The number of elements of the domain."""
        return self.rows * self.inner


def is_chain(node: Node) -> bool:
    """Whether a node folds an axis in chains, not in lanes."""
    return node.op == "reduce" and not node.params["lanes"]


def has_epilogue(cluster: Cluster) -> bool:
    """Whether a cluster is a matrix product with an epilogue."""
    return len(cluster.members) > 1 and next(iter(cluster.members)).op == "contract"
