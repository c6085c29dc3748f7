"""Clusters that differ in sizes alone: one is lowered for all, and its code reads the sizes.

Layers of growing width are such clusters: DenseNet121 has 2,300 of 830 sizes and 66 outlines.
Decisions that depend on a size become guards, as in programs for all sizes (gnomon/ir/sizes.py): a
cluster for which one is decided otherwise is lowered by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gnomon.ir.dissected import Numbers, renumbered_params
from gnomon.ir.dissected import parts_of as parts_of_kind
from gnomon.ir.node import Arena, Node
from gnomon.ir.relations import Relations, StandIn, first_that_serves
from gnomon.ir.sizes import LEAST, is_symbolic
from gnomon.ir.specializations import CLUSTERS, Specializations
from gnomon.ir.sym_number import Unsized
from gnomon.schedule.alike import KernelPart
from gnomon.schedule.cluster import Cluster
from gnomon.schedule.nest import ClusterSignature, LoopNest

__all__ = ["NestAtSizes", "SharedNests"]


class SharedNests:
    """The loop nests that clusters of one outline share, for each outline that has many sizes."""

    def __init__(self, signatures: Iterable[tuple[Cluster, ClusterSignature]]) -> None:
        self._taken: dict[Cluster, tuple[Hashable, Numbers]] = {}
        self._known = Specializations(CLUSTERS)
        for cluster, signature in signatures:
            taken = outline_and_numbers(signature)
            if taken is not None:
                self._taken[cluster] = taken
                self._known.of(taken[0]).samples[taken[1]] = None

    def at(self, cluster: Cluster, signature: ClusterSignature) -> NestAtSizes | None:
        """The nest that a cluster shares, at its sizes; None where it has its own."""
        if cluster not in self._taken:
            return None
        outline, numbers = self._taken[cluster]

        def make(others: list[Numbers]) -> SizedNest | None:
            # who has few elements runs a kernel for many well, and not the other way round
            ordered = sorted([numbers, *others], key=elements, reverse=True)
            return nest_for(cluster, signature, ordered)

        found = self._known.of(outline).served(numbers, make)
        return found and NestAtSizes(found[0], found[1], [*signature.numbers])


def outline_and_numbers(signature: ClusterSignature) -> tuple[Hashable, Numbers] | None:
    """The outline of a cluster, and its numbers; None where these are symbolic already.

    Numbers that are no sizes, and 0 and 1, which select code, belong to the outline. So does the
    size of a folded axis, since code that knows it is three times as fast for short axes.
    """
    rows: list[Hashable] = []
    numbers: list[int] = []
    for node, row in zip(signature.numbers, signature.rows, strict=True):
        if is_read(row):
            rows.append((node.rank, row[1]))
            numbers += node.shape
            continue
        parts = parts_of_kind(node)
        if parts.graphs:
            return None
        fixed = tuple([parts.numbers[k] for k in (*parts.leaves, *parts.fixed)])
        rows.append((parts.outline, *row[1:], fixed, folded_size(node)))
        numbers += parts.numbers
    if any(map(is_symbolic, numbers)):
        return None
    small = tuple([n if n < LEAST else None for n in numbers])
    return (signature.key[0], tuple(rows), small), tuple(numbers)


def folded_size(node: Node) -> int | None:
    """The size of the axis that a reduction folds; None for other nodes."""
    if node.op != "reduce":
        return None
    axis: int = node.params["axis"]
    return node.inputs[0].shape[axis]


def is_read(row: tuple[Any, ...]) -> bool:
    """Whether the row of a signature is that of a loaded node: a shape and a dtype."""
    return len(row) == 2


def elements(numbers: Numbers) -> int:
    """The sum of a cluster's sizes, to compare it with others of its outline."""
    return sum(n for n in numbers if type(n) is int)


def nest_for(
    cluster: Cluster, signature: ClusterSignature, samples: Sequence[Numbers]
) -> SizedNest | None:
    """A nest on symbolic sizes for clusters like this one."""

    def make(stand_in: StandIn) -> SizedNest:
        return SizedNest(cluster, signature, Relations(samples, 0, (), stand_in))

    return first_that_serves(make, samples[0], "a cluster", 2)


class SizedNest:
    """A loop nest of a cluster whose varying sizes are symbols."""

    def __init__(self, cluster: Cluster, signature: ClusterSignature, related: Relations) -> None:
        self._related, self._sizes = related, related.sizes
        image = renumbered(signature, iter(related.numbers))
        stored = {image[x] for x in signature.numbers if x in signature.stored}
        if len(set(image.values())) < len(image) or not image.keys() >= cluster.members.keys():
            raise Unsized("its nodes are not those of another of its outline")
        members = {image[x]: per_row for x, per_row in cluster.members.items()}
        place = {x: k for k, x in enumerate(image.values())}
        self.parts = [
            (part, tuple([place[x] for x in part.buffers]))
            for part in LoopNest(
                Cluster(cluster.rows, cluster.inner, members=members), stored
            ).parts
        ]
        self._guards, self._holds = -1, self._sizes.test()
        self._functions: dict[Hashable, Callable[[Numbers], Numbers]] = {}

    def serves(self, numbers: Numbers) -> Numbers | None:
        """The sizes of a cluster with these numbers; None if the nest is not for it."""
        own = self._related.given_by(numbers)
        return own if own is not None and self.holds(own) else None

    def holds(self, own: Numbers) -> bool:
        """Whether all guards recorded so far hold for these sizes."""
        if len(self._sizes.guards) != self._guards:
            self._guards, self._holds = len(self._sizes.guards), self._sizes.test()
        return self._holds(own)

    def values(self, names: tuple[Any, ...], own: Numbers) -> dict[Any, int]:
        """The values of symbolic numbers at the given sizes."""
        if names not in self._functions:
            self._functions[names] = self._sizes.function(names)
        return dict(zip(names, self._functions[names](own), strict=True))


@dataclass(frozen=True)
class NestAtSizes:
    """A nest that several clusters share, at the sizes of one, over its nodes."""

    nest: SizedNest
    own: Numbers
    nodes: Sequence[Node]

    def parts(self) -> Iterator[KernelPart]:
        """The kernels, whose numbers are symbolic, over the cluster's own buffers."""
        for part, places in self.nest.parts:
            yield replace(part, buffers=tuple([self.nodes[k] for k in places]))

    def holds(self) -> bool:
        """Whether the nest's guards, later ones included, hold for this cluster's numbers."""
        return self.nest.holds(self.own)

    def values(self, names: Iterable[Any]) -> dict[Any, int]:
        """The values of symbolic numbers for this cluster's sizes."""
        return self.nest.values(tuple(names), self.own)


def renumbered(signature: ClusterSignature, numbers: Iterator[Any]) -> dict[Node, Node]:
    """Copy a cluster into a new arena with other numbers; returns the copy of each node."""
    arena, image = Arena(), dict[Node, Node]()
    for node, row in zip(signature.numbers, signature.rows, strict=True):
        if is_read(row):
            image[node] = arena.input(tuple([next(numbers) for _ in node.shape]), node.dtype)
            continue
        params = renumbered_params(node, numbers, {})
        image[node] = arena.node(node.op, tuple([image[x] for x in node.inputs]), **params)
    return image
