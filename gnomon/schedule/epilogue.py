"""Epilogues: pointwise nodes that a product computes, on sums that are still in registers.

A fusion is a candidate: it is taken if the bytes of operands and results say that it saves memory
traffic, and each decision is recorded with its reason. Bits are the same either way, since every
function rounds to its own dtype, stored or not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import prod
from typing import Any

from gnomon.ir.memo import memo
from gnomon.ir.node import Node
from gnomon.ir.sizes import hint
from gnomon.ir.symbolic import has_division, split
from gnomon.ops.primitives import split_spec
from gnomon.schedule.cluster import DEEP, ELSEWHERE, FULL, MEMBERS, READ, SPACE, Cluster
from gnomon.schedule.fusion import Decision, Fusion, Judge, Weighed
from gnomon.schedule.kernel import LoopKernel
from gnomon.schedule.memory import nbytes
from gnomon.schedule.nest import ClusterSignature, DomainPiece, LoopNest
from gnomon.schedule.placed import Placed

SMALL = 8
"""Operands with fewer elements than the product's divided by this are cached and not counted."""
MOST_READ = 1
"""The most operands of the product's size that an epilogue may read.

Each is fetched tile by tile: measured on Zen 3, one costs what its own pass would, two cost 5 %
more than that and three 10 %."""


FOLDS = "it folds whole rows, of which a product has a few columns at hand"
AFTER = "its other operand is made after the product"


LITTLE = "saves too little"
REMATERIALIZED = "a value would be stored that other kernels recompute"
OTHER_LAYOUT = "its operands have another layout"


def fuse_epilogues(
    placed: Placed, carries: Callable[[Node], bool] | None, judge: Judge | None = None
) -> list[Decision]:
    """Move nodes into the clusters of products, in place, wherever that pays."""
    decisions: list[Decision] = []
    order = {cluster: k for k, cluster in enumerate(placed.ordered())}
    for product in [x for x in placed.home if carries and x.op == "contract" and carries(x)]:
        candidate = Candidate(placed, product, order)
        decisions += candidate.refused
        for nodes in candidate.choices():
            fusion = candidate.weigh(nodes)
            hopeless = (
                fusion.refused in (REMATERIALIZED, OTHER_LAYOUT) or fusion.together > fusion.apart
            )
            if judge and not hopeless and candidate.can_be_written(nodes):
                fusion = judge(placed, fusion, take)
            decisions.append(fusion)
            if not fusion.refused:
                take(placed, product, nodes)
                break
    return decisions


class Candidate:
    """A product and the nodes that it could compute in its epilogue."""

    def __init__(self, placed: Placed, product: Node, order: Mapping[Cluster, int]) -> None:
        self.placed, self.product, self.order = placed, product, order
        self.cluster = placed.home[product]
        self.nodes: dict[Node, None] = {}
        self._grow()

    def _grow(self) -> None:
        """Find the elementwise users of the product whose other operands are computed before it."""
        waiting = list(self.placed.readers.get(self.product, ()))
        refused: dict[Node, str] = {}
        while waiting:
            node = min(waiting, key=lambda x: x.serial)
            waiting.remove(node)
            if node in self.nodes:
                continue
            added = self._with_operands(node)
            if not isinstance(added, str) and self._is_full(added):
                added = FULL
            if isinstance(added, str):
                refused[node] = added
            else:
                self.nodes.update(dict.fromkeys(added))
                waiting += self.placed.readers.get(node, ())
        self.refused = [
            Weighed("join", self.product, self.product, node, why)
            for node, why in refused.items()
            if node not in self.nodes
        ]

    def _is_full(self, added: Sequence[Node]) -> bool:
        """Whether one kernel would be too large with these nodes too."""
        nodes = (*self.nodes, *added)
        homes = {self.placed.home[x] for x in nodes}
        return len(nodes) > MEMBERS or sum(cluster.depth for cluster in homes) > DEEP

    def _with_operands(self, node: Node) -> list[Node] | str:
        """The nodes to add for one node: it, after those of its cluster that it needs.

        If one of them cannot be computed with the product, the result is the reason, a string.
        """
        own, waiting = self.placed.home[node], [node]
        found: set[Node] = set()
        if own.opaque:
            return READ
        while waiting:
            node = waiting.pop()
            if node in found:
                continue
            if node.op == "reduce" or own.members[node]:
                return FOLDS
            if node.op != "map" or node.size != self.product.size:
                return SPACE
            found.add(node)
            for r in self.placed.reads[node]:
                known = r.node is self.product or r.node in self.nodes
                maker = self.placed.home.get(r.node)
                if (known or maker is own) and not r.same:
                    return ELSEWHERE
                if not known and maker is own:
                    waiting.append(r.node)
                elif not known and not self._is_before(maker):
                    return AFTER
        return sorted(found, key=lambda x: x.serial)

    def _is_before(self, maker: Cluster | None) -> bool:
        """Whether a cluster runs before the product, so that fusing them makes no cycle."""
        return maker is None or self.order[maker] < self.order[self.cluster]

    def choices(self) -> list[tuple[Node, ...]]:
        """Sets of nodes to try, least traffic first: all, or those behind stored values."""
        if not self.nodes:
            return []
        kept: set[Node] = set()
        for node in reversed(list(self.nodes)):
            if node in kept or self._is_stored(node):
                kept.add(node)
                kept.update(r.node for r in self.placed.reads[node] if r.node in self.nodes)
        every, some = tuple(self.nodes), tuple(x for x in self.nodes if x in kept)
        if not some or some == every:
            return [every]
        return sorted((every, some), key=lambda nodes: self.traffic(set(nodes)))

    def _is_stored(self, node: Node, moved: Set[Node] = frozenset()) -> bool:
        """Whether a node has a buffer once the nodes of `moved` are in the product's kernel."""
        if node in self.placed.required:
            return True
        own = self._home(node, moved)
        return any([self._home(x, moved) is not own for x in self.placed.readers.get(node, ())])

    def _home(self, node: Node, moved: Set[Node]) -> Cluster | None:
        return self.cluster if node in moved else self.placed.home.get(node)

    def traffic(self, moved: set[Node]) -> int:
        """The bytes that all kernels concerned move once `moved` is in the product's kernel."""
        clusters = {self.cluster, *(self.placed.home[x] for x in self.nodes)}
        total = 0
        for cluster in clusters:
            own = {*cluster.members} - moved if cluster is not self.cluster else {*moved}
            read = {
                r.node
                for x in own
                for r in self.placed.reads[x]
                if self._home(r.node, moved) is not cluster
            }
            made = {x for x in (*own, *cluster.members) if self._home(x, moved) is cluster}
            made = {x for x in made if self._is_stored(x, moved)}
            large = (x for x in read | made if hint(x.size) * SMALL > hint(self.product.size))
            total += sum(hint(nbytes(x)) for x in large)
        return total

    def weigh(self, nodes: tuple[Node, ...]) -> Fusion:
        """The decision about fusing these nodes, by the bytes that are moved."""
        moved = set(nodes)
        apart, together = self.traffic(set()), self.traffic(moved)
        read = {r.node for x in nodes for r in self.placed.reads[x]} - {*nodes, self.product}
        large = [x for x in read if hint(x.size) * SMALL > hint(self.product.size)]
        refused = ""
        if any(
            self._is_stored(x, moved) for x in self.placed.rematerialized - self.placed.required
        ):
            refused = REMATERIALIZED
        elif apart - together < hint(nbytes(self.product)):
            refused = LITTLE
        elif len(large) > MOST_READ:
            refused = f"reads {len(large)} operands of its size"
        elif not self.can_be_written(nodes):
            refused = OTHER_LAYOUT
        return Fusion(self.product, nodes, apart, together, refused)

    def can_be_written(self, nodes: tuple[Node, ...]) -> bool:
        """Whether code can be written for an epilogue of these nodes."""
        return is_plain(self._trial(nodes))

    def _trial(self, nodes: tuple[Node, ...]) -> LoopKernel:
        """The kernel of an epilogue with these nodes, to examine it."""
        stored = {x: None for x in nodes if self._is_stored(x, set(nodes))}
        others = (r.node for x in nodes for r in self.placed.reads[x] if r.node not in nodes)
        return epilogue_of(self.product, nodes, {**stored, **dict.fromkeys(others)}).kernel


def take(placed: Placed, product: Node, nodes: Sequence[Node]) -> None:
    """Move nodes into the product's cluster, in place."""
    cluster = placed.home[product]
    for node in nodes:
        own = placed.home[node]
        del own.members[node]
        placed.home[node] = cluster
        cluster.members[node] = False
        makers = {placed.home[r.node] for r in placed.reads[node] if r.node in placed.home}
        cluster.needs |= makers - {cluster}
        for other in placed.clusters:
            if own in other.needs and other is not cluster:
                other.needs.add(cluster)
    for empty in [c for c in placed.clusters if not c.members]:
        placed.clusters.remove(empty)
        for other in placed.clusters:
            other.needs.discard(empty)


@dataclass(frozen=True)
class Epilogue:
    """A loop kernel over the product's rows and columns, and the nodes behind its buffers."""

    kernel: LoopKernel
    buffers: tuple[Node, ...]


class EpilogueNest(LoopNest):
    """Pointwise nodes over rows and columns of a product, which is read like a stored value."""

    def __init__(
        self, cluster: Cluster, stored: Mapping[Node, None], sizes: tuple[int, int]
    ) -> None:
        self.cluster, self.stored = cluster, stored
        self.written = [x for x in cluster.members if x in stored]
        self.lanes, self.shape = False, sizes
        rows, columns = sizes
        kernel = self._build(
            (rows,) if rows != 1 else (), (columns,), DomainPiece(0, 0, sizes, whole=True)
        )
        self.epilogue = Epilogue(kernel, tuple(self.buffers))


_epilogues: dict[tuple[Any, ...], tuple[LoopKernel, tuple[int, ...]]] = memo({})


def epilogue_of(product: Node, nodes: Sequence[Node], stored: Mapping[Node, None]) -> Epilogue:
    """The epilogue that computes nodes of a product's element; lowered once per signature."""
    return lowered(nodes, {**stored, product: None}, table_of(product), product)


def lowered(
    nodes: Sequence[Node],
    known: Mapping[Node, None],
    sizes: tuple[int, int],
    product: Node | None = None,
) -> Epilogue:
    """Lower pointwise nodes over rows and columns; `known` have buffers, `product` its sums."""
    rows, columns = sizes
    cluster = Cluster(rows, columns, members=dict.fromkeys(nodes, False))
    signature = ClusterSignature(cluster, known)
    key = (signature.key, product and signature.numbers.get(product), rows, columns)
    if key not in _epilogues:
        made = EpilogueNest(cluster, known, sizes).epilogue
        places = tuple(signature.numbers[x] for x in made.buffers)
        _epilogues[key] = made.kernel, places
    kernel, places = _epilogues[key]
    numbered = list(signature.numbers)
    return Epilogue(kernel, tuple(numbered[k] for k in places))


def table_of(product: Node) -> tuple[int, int]:
    """A product's number of rows, over all batches, and its number of columns."""
    left, right, out = split_spec(product.params["spec"])
    other = left if out[-1:] in right else right
    columns = prod(n for c, n in zip(out, product.shape, strict=True) if c not in other)
    return product.size // max(columns, 1), columns


def is_plain(kernel: LoopKernel) -> bool:
    """Whether an epilogue can be written: operands are contiguous or constant along a row.

    A division per element would cost more than everything else.
    """
    varying: set[Node] = set()
    for x in kernel.nodes():
        if x is kernel.inner or not varying.isdisjoint(x.inputs):
            varying.add(x)
    steps = [split(x.inputs[0])[0].get(kernel.inner, 0) for x in varying if x.op == "load"]
    made = [split(store.place)[0].get(kernel.inner, 0) for store in kernel.stores]
    fits = all(step in (0, 1) for step in steps) and all(step == 1 for step in made)
    return fits and not kernel.checks() and not has_division(varying)
