"""A cluster as one loop kernel: which axes become rows, which run in vectors.

Several ways to cut the domain are tried, the largest vectors first; the first whose index
arithmetic needs no division wins, because a division per element costs more than all else.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from gnomon.ir.node import Arena, Node, Shape
from gnomon.ir.symbolic import flatten, has_division, loop_range, number, plus, times, unflatten
from gnomon.schedule.access import domain_of
from gnomon.schedule.kernel import LoopKernel, Store, load
from gnomon.schedule.lower import Index, Lowering
from gnomon.schedule.partition import Cluster, Partition

Cut = tuple[Shape, Shape]
"""(sizes of the rows' ranges, sizes that the inner range merges)"""


class Nest:
    """A loop kernel and the nodes behind its buffers, outputs first."""

    def __init__(self, cluster: Cluster, partition: Partition) -> None:
        self.cluster, self.partition = cluster, partition
        self.written = [x for x in cluster.members if x in partition.stored]
        self.buffers: list[Node] = []
        self.kernel = next(self._attempts())

    def _attempts(self) -> Iterator[LoopKernel]:
        """Kernels that are good enough, best first; the last cut is always good enough."""
        cuts = list(self._cuts())
        for k, (rows, inner) in enumerate(cuts):
            kernel = self._build(rows, inner)
            if k == len(cuts) - 1 or not has_division(kernel.nodes()):
                yield kernel

    def _cuts(self) -> Iterator[Cut]:
        """Ways to cut the domain."""
        full = (x for x, per_row in self.cluster.members.items() if not per_row or is_lane_fold(x))
        shape = max(map(domain_of, full), key=len) or (1,)
        if not any(is_lane_fold(x) for x in self.cluster.members):
            for k in range(len(shape) - 1):
                yield from self._rows(shape[:k], shape[k:])
        yield from self._rows(shape[:-1], shape[-1:])

    def _rows(self, rows: Shape, inner: Shape) -> Iterator[Cut]:
        """Rows as one range, and as one range per axis."""
        kept = tuple(n for n in rows if n != 1)
        if len(kept) > 1:
            yield (prod(kept),), inner
        yield kept, inner

    def _build(self, row_sizes: Shape, inner_sizes: Shape) -> LoopKernel:
        """The kernel for one cut."""
        arena, width = Arena(), prod(inner_sizes)
        rows = tuple(loop_range(arena, n, f"row{k}") for k, n in enumerate(row_sizes))
        inner = loop_range(arena, width, "inner")
        row = flatten(arena, rows, row_sizes)
        column = inner if width != 1 else number(arena, 0)
        self.buffers = list(self.written)
        lowering = Lowering(arena, self._reader(arena), self._folds(arena, inner))
        stores = tuple(
            self._store(lowering, k, x, row, plus(times(row, width), column))
            for k, x in enumerate(self.written)
        )
        flat = not rows and not any(
            x.op == "fold" for s in stores for x in (s.value, *walk(s.value))
        )
        dtypes = tuple(x.dtype for x in self.buffers)
        return LoopKernel(rows, inner, stores, dtypes, flat)

    def _store(self, lowering: Lowering, buffer: int, x: Node, row: Node, element: Node) -> Store:
        """The store of one member, at its row or at its element."""
        place = row if self.cluster.members[x] else element
        value = lowering.at(x, unflatten(place, x.shape))
        return Store(buffer, place, value, x.dtype)

    def _reader(self, arena: Arena):
        """Loads of what other kernels stored; members and free nodes are computed here."""
        stored = self.partition.stored

        def read(x: Node, at: Index, guard: Node | None, fill: object) -> Node | None:
            if x in self.cluster.members or not (x in stored or x.op == "input"):
                return None
            if x not in self.buffers:
                self.buffers.append(x)
            place = flatten(arena, at, x.shape)
            return load(arena, self.buffers.index(x), x.dtype, place, guard, fill)

        return read

    def _folds(self, arena: Arena, inner: Node) -> dict[Node, Node]:
        """The range of every fold: lanes run along the inner range, chains share one per axis."""
        found = {}
        for x in self.cluster.members:
            if is_lane_fold(x):
                found[x] = inner if inner.params["size"] != 1 else number(arena, 0)
            elif x.op == "reduce":
                axis = x.params["axis"]
                found[x] = loop_range(arena, x.inputs[0].shape[axis], f"fold{axis}")
        return found


class Signature:
    """What a cluster's kernel depends on: the kinds of its nodes and how they are joined.

    Clusters of one signature, such as those of equal layers, have one kernel over other buffers.
    """

    def __init__(self, cluster: Cluster, partition: Partition) -> None:
        self.members, self.stored = cluster.members, partition.stored
        self.numbers: dict[Node, int] = {}
        self.rows: list[tuple] = []
        written = [x for x in cluster.members if x in partition.stored]
        self.key = (tuple(self._number(x) for x in written), tuple(self.rows))

    def _number(self, x: Node) -> int:
        """A node's number, given after those of what it is computed from."""
        if x not in self.numbers:
            computed = x in self.members or not (x in self.stored or x.op == "input")
            if computed:
                inputs = tuple(self._number(y) for y in x.inputs)
                row = (x.kind, self.members.get(x), inputs)
            else:
                row = (x.shape, x.dtype.name)
            self.rows.append(row)
            self.numbers[x] = len(self.numbers)
        return self.numbers[x]


_kernels: dict[tuple, tuple[LoopKernel, tuple[int, ...]]] = {}


def kernel_of(cluster: Cluster, partition: Partition) -> tuple[LoopKernel, list[Node]]:
    """A cluster's kernel and the nodes behind its buffers; lowered once per signature."""
    signature = Signature(cluster, partition)
    found = _kernels.get(signature.key)
    if found is None:
        nest = Nest(cluster, partition)
        places = tuple(signature.numbers[x] for x in nest.buffers)
        found = _kernels[signature.key] = (nest.kernel, places)
    nodes = list(signature.numbers)
    return found[0], [nodes[k] for k in found[1]]


def is_lane_fold(x: Node) -> bool:
    """Whether a node folds its input's last axis in lanes."""
    return x.op == "reduce" and x.params["lanes"]


def walk(value: Node) -> list[Node]:
    """A scalar's operands, all the way down."""
    found, stack = [], [value]
    seen = {value}
    while stack:
        for x in stack.pop().inputs:
            if x not in seen:
                seen.add(x)
                found.append(x)
                stack.append(x)
    return found


def name_of(nodes: list[Node]) -> str:
    """A readable name: the operation that the last result belongs to, and its scalar function."""
    last = nodes[-1]
    site = last.sites[0] if last.sites else None
    parts = [site.op if site else "", last.params.get("f") or last.params.get("monoid") or last.op]
    return "_".join(p.replace(".", "_") for p in parts if p)
