"""A cluster: nodes that one kernel computes, and which clusters must run before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gnomon.ir.node import Node

MEMBERS = 64
"""A cluster's most members: past it, registers and compile time suffer."""

DEEP = 128
"""The most values deep that a kernel's expressions go: code is written by recursion."""

SPACE = "they run over different rows and columns"
ELSEWHERE = "it is read at other places than where it is made"
LATER = "another kernel must run in between"
READ = "a kernel of its own reads it from memory"
FULL = f"a kernel has at most {MEMBERS} members, {DEEP} values deep"
"""Why nodes are not computed together."""


@dataclass(eq=False)
class Cluster:
    """Nodes that one kernel computes; an opaque one holds a single call."""

    rows: int
    inner: int
    opaque: bool = False
    members: dict[Node, bool] = field(default_factory=dict[Node, bool])
    """Member -> whether it is per row."""
    needs: set[Cluster] = field(default_factory=lambda: set[Cluster]())
    """Clusters that must run before, direct ones."""
    depth: int = 0
    """The largest depth of its expressions, in values."""
    before: set[Node] = field(default_factory=set[Node])
    """Members that a product reads: its left factor and what only that is made of."""

    @property
    def size(self) -> int:
        """Elements of the domain."""
        return self.rows * self.inner


def is_chain(node: Node) -> bool:
    """Whether a node folds an axis in chains, not in lanes."""
    return node.op == "reduce" and not node.params["lanes"]


def has_epilogue(cluster: Cluster) -> bool:
    """Whether a cluster is a matrix product with an epilogue."""
    return len(cluster.members) > 1 and next(iter(cluster.members)).op == "contract"
