"""Lower a cluster to loop kernels: choose the axes of rows and of vectors, and where to cut.

Several ways to cut the domain are tried, the largest vectors first; the first whose index
arithmetic needs no division is taken, because a division per element costs more than all else.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Node, Shape, topological
from gnomon.ir.sizes import hint
from gnomon.ir.symbolic import (
    bounds,
    divisor_of,
    flatten,
    has_division,
    is_quotient,
    loop_range,
    number,
    plus,
    split,
    times,
    unflatten,
)
from gnomon.schedule.access import domain_of, ranges_for
from gnomon.schedule.alike import KernelPart, runs_of
from gnomon.schedule.cluster import Cluster
from gnomon.schedule.kernel import LoopKernel, Store, load
from gnomon.schedule.lower import Index, Lowering

AxisSplit = tuple[Shape, Shape]
"""The sizes of the row ranges, and the sizes that the inner range merges."""
MOST_PIECES = 8
"""The most kernels into which one cluster is cut."""
LEAST_PIECE = 16
"""The fewest elements along the axis that make a piece worth a kernel: a vector."""
MOST_LARGE, LARGE = 64, 1024
"""The most pieces, and the fewest elements of each, for a cut in any case: a comparison costs time
per element."""


@dataclass(frozen=True)
class DomainPiece:
    """A part of a domain along one axis: its start and its shape."""

    axis: int
    start: int
    shape: Shape
    whole: bool = False

    def element(self, x: Node, place: Node) -> Node:
        """The flat index in x of an element of the piece."""
        if self.whole:
            return place
        index = list(unflatten(place, self.shape))
        index[self.axis] = plus(index[self.axis], self.start)
        return flatten(place.arena, index, x.shape)


class DividedPlace(Exception):
    """Raised if a kernel would divide in every element to find where it reads."""


class LoopNest:
    """The loop kernels of a cluster, and the nodes of their buffers, outputs first."""

    may_divide = True
    """Whether the kernel that is being built may divide."""

    def __init__(self, cluster: Cluster, stored: Container[Node]) -> None:
        self.cluster, self.stored = cluster, stored
        self.written = [x for x in cluster.members if x in stored]
        self.lanes = any(is_lane_fold(x) for x in cluster.members)
        full = (x for x, per_row in cluster.members.items() if not per_row or is_lane_fold(x))
        self.shape = max(map(domain_of, full), key=len) or (1,)
        self.parts = self._apart() or [self._best(DomainPiece(0, 0, self.shape, whole=True))[0]]

    def _apart(self) -> list[KernelPart]:
        """The kernels of a domain cut where index comparisons change; empty if it is not cut.

        A join, or the gradient of a split, is thus written part by part; equal parts share one
        kernel.
        """
        for axis, places, many in self._cuts_at_questions():
            bounds = pairwise((0, *places, self.shape[axis]))
            pieces = [
                DomainPiece(axis, low, (*self.shape[:axis], high - low, *self.shape[axis + 1 :]))
                for low, high in bounds
            ]
            parts = runs_of(self._each(pieces))
            if many or len(parts) <= min(MOST_PIECES, len(pieces) - 1):
                return parts
        return []

    def _each(self, pieces: Sequence[DomainPiece]) -> Iterator[KernelPart]:
        """The best kernel of each piece; the split that was best for one is tried first next.

        Parts that can share a kernel thus do, and few kernels are built in vain.
        """
        cut = None
        for piece in pieces:
            part, cut = self._best(piece, cut)
            yield part

    def _cuts_at_questions(self) -> list[tuple[int, tuple[int, ...], bool]]:
        """For each axis, where comparisons change, and whether unlike parts may be kernels."""
        if not self._is_uniform() or not self._may_ask():
            return []
        arena = Arena()
        index = ranges_for(arena, self.shape)
        self.buffers = list(self.written)
        lowering = Lowering(arena, self._reader(arena), self._folds(arena, index[-1]))
        values = [lowering.at(x, index) for x in self.written]
        return boundaries(topological(values), index, self.shape)

    def _may_ask(self) -> bool:
        """Whether the loop nest may compare indices: it contains a pad or an iota."""
        stored, seen = self.stored, set(self.written)
        stack = list(self.written)
        while stack:
            x = stack.pop()
            if x.op in ("pad", "iota"):
                return True
            inside = [y for y in x.inputs if y in self.cluster.members or y not in stored]
            stack += [y for y in inside if y not in seen]
            seen.update(inside)
        return False

    def _is_uniform(self) -> bool:
        """Whether all results have the domain's own shape, and none is folded along its rows."""
        return not self.lanes and all(x.shape == self.shape for x in self.written)

    def _best(
        self, piece: DomainPiece, first: AxisSplit | None = None
    ) -> tuple[KernelPart, AxisSplit]:
        """The first kernel that does not divide, else the last one, with its split."""
        cuts = list(self._cuts(piece.shape))
        *before, last = [first, *cuts] if first in cuts else cuts
        for cut in before:
            kernel = self._undivided(*cut, piece)
            if kernel is not None:
                break
        else:
            kernel, cut = self._divided(*last, piece), last
        sizes = prod(piece.shape), prod(self.shape)
        return KernelPart(kernel, tuple(self.buffers), *sizes), cut

    def _divided(self, row_sizes: Shape, inner_sizes: Shape, piece: DomainPiece) -> LoopKernel:
        """The kernel for a split, divisions allowed."""
        kernel = self._build(row_sizes, inner_sizes, piece)
        return self._finer(kernel, piece) if has_division(kernel.nodes()) else kernel

    def _finer(self, kernel: LoopKernel, piece: DomainPiece) -> LoopKernel:
        """The kernel with its last axis split in two if that leaves no division, else unchanged."""
        width = piece.shape[-1]
        for k in () if self.lanes else sorted(divisors(kernel), reverse=True):
            if width % k == 0 and LEAST_PIECE <= k < width:
                buffers = self.buffers
                finer = self._undivided((*piece.shape[:-1], width // k), (k,), piece)
                if finer is not None:
                    return finer
                self.buffers = buffers
        return kernel

    def _undivided(
        self, row_sizes: Shape, inner_sizes: Shape, piece: DomainPiece
    ) -> LoopKernel | None:
        """The kernel for a split; None as soon as a load would divide."""
        self.may_divide = False
        try:
            kernel = self._build(row_sizes, inner_sizes, piece)
        except DividedPlace:
            return None
        finally:
            self.may_divide = True
        return None if has_division(kernel.nodes()) else kernel

    def _cuts(self, shape: Shape) -> Iterator[AxisSplit]:
        """Yield the splits of a domain into rows and inner axes, the longest inner part first."""
        if not self.lanes:
            for k in range(len(shape) - 1):
                yield from self._rows(shape[:k], shape[k:])
        yield from self._rows(shape[:-1], shape[-1:])

    def _rows(self, rows: Shape, inner: Shape) -> Iterator[AxisSplit]:
        """Yield a split with its rows as one range, then with one range per axis."""
        kept = tuple(n for n in rows if n != 1)
        if len(kept) > 1:
            yield (prod(kept),), inner
        yield kept, inner

    def _build(self, row_sizes: Shape, inner_sizes: Shape, piece: DomainPiece) -> LoopKernel:
        """Build the kernel for one split of a piece."""
        arena, width = Arena(), prod(inner_sizes)
        rows = tuple(loop_range(arena, n, f"row{k}") for k, n in enumerate(row_sizes))
        inner = loop_range(arena, width, "inner")
        row = flatten(arena, rows, row_sizes)
        column = inner if width != 1 else number(arena, 0)
        self.buffers = list(self.written)
        lowering = Lowering(arena, self._reader(arena), self._folds(arena, inner))
        stores = tuple(
            self._store(lowering, k, x, row, piece.element(x, plus(times(row, width), column)))
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
        """A function that loads nodes which other kernels stored; None for nodes computed here."""
        stored = self.stored

        def read(x: Node, at: Index, guard: Node | None, fill: object) -> Node | None:
            if x in self.cluster.members or not is_loaded(x, stored):
                return None
            if x not in self.buffers:
                self.buffers.append(x)
            place = flatten(arena, at, x.shape)
            if not self.may_divide and has_division(topological([place])):
                raise DividedPlace
            return load(arena, self.buffers.index(x), x.dtype, place, guard, fill)

        return read

    def _folds(self, arena: Arena, inner: Node) -> dict[Node, Node]:
        """The range of every fold: lanes run along the inner range, chains share one per axis."""
        found: dict[Node, Node] = {}
        for x in self.cluster.members:
            if is_lane_fold(x):
                found[x] = inner if inner.params["size"] != 1 else number(arena, 0)
            elif x.op == "reduce":
                axis: int = x.params["axis"]
                found[x] = loop_range(arena, x.inputs[0].shape[axis], f"fold{axis}")
        return found


def is_loaded(x: Node, stored: Container[Node]) -> bool:
    """Whether a node is loaded from memory: an input, or stored and not a constant."""
    return x.op == "input" or (x in stored and x.op != "const")


class ClusterSignature:
    """The signature of a cluster, on which its kernel depends: kinds of nodes and their edges.

    Clusters of one signature, such as those of equal layers, share one kernel over other buffers.
    """

    def __init__(self, cluster: Cluster, stored: Container[Node]) -> None:
        self.members, self.stored = cluster.members, stored
        self.numbers: dict[Node, int] = {}
        self.rows: list[tuple[Any, ...]] = []
        written = [x for x in cluster.members if x in stored]
        self.key = (tuple(self._number(x) for x in written), tuple(self.rows))

    def _number(self, x: Node) -> int:
        """The number of a node in the signature, after those of its operands."""
        if x not in self.numbers:
            computed = x in self.members or not is_loaded(x, self.stored)
            if computed:
                inputs = tuple(self._number(y) for y in x.inputs)
                row = (x.kind, self.members.get(x), inputs)
            else:
                row = (x.shape, x.dtype.name)
            self.rows.append(row)
            self.numbers[x] = len(self.numbers)
        return self.numbers[x]


_kernels: dict[tuple[Any, ...], list[tuple[KernelPart, tuple[int, ...]]]] = memo({})


def parts_of(cluster: Cluster, signature: ClusterSignature) -> Iterator[KernelPart]:
    """A cluster's kernels, over its own buffers; lowered once per signature."""
    found = _kernels.get(signature.key)
    if found is None:
        parts = LoopNest(cluster, signature.stored).parts
        found = [(part, tuple(signature.numbers[x] for x in part.buffers)) for part in parts]
        _kernels[signature.key] = found
    nodes = list(signature.numbers)
    for part, places in found:
        yield replace(part, buffers=tuple([nodes[k] for k in places]))


def divisors(kernel: LoopKernel) -> set[int]:
    """The numbers by which the inner range itself is divided."""
    return {divisor_of(x) for x in kernel.nodes() if is_quotient(x) and x.inputs[0] is kernel.inner}


def is_question(x: Node) -> bool:
    """Whether a scalar compares an index with a number."""
    if x.op != "map" or x.params["f"] not in ("ge", "lt"):
        return False
    index, number = x.inputs
    return index.op in ("affine", "range") and number.op in ("affine", "const")


def boundaries(
    nodes: Sequence[Node], index: Index, shape: Shape
) -> list[tuple[int, tuple[int, ...], bool]]:
    """The axes along which indices are compared, where results change, and whether few do.

    The axis with most equal parts comes first, then the innermost.
    """
    found: dict[int, set[int]] = {}
    for x in filter(is_question, nodes):
        terms, offset = split(x.inputs[0])
        if len(terms) == 1 and next(iter(terms.items()))[1] == 1:
            axis = index.index(next(iter(terms))) if next(iter(terms)) in index else None
            if axis is not None:
                found.setdefault(axis, set()).add(bounds(x.inputs[1])[0] - offset)
    equal: list[tuple[int, tuple[int, ...], bool]] = []
    unequal: list[tuple[int, tuple[int, ...], bool]] = []
    for axis in sorted(found, reverse=True):
        places = tuple(sorted(p for p in found[axis] if 0 < p < shape[axis]))
        # who cuts is quicker, so what is decided by sizes needs to hold for no others
        sizes = [hint(high - low) for low, high in pairwise((0, *places, shape[axis]))]
        each = hint(prod(shape[axis + 1 :]))
        least = min(sizes) * hint(prod(shape)) // hint(shape[axis])
        few = len(sizes) <= MOST_PIECES and min(sizes) >= LEAST_PIECE
        many = len(sizes) <= MOST_LARGE and least >= LARGE and axis < len(shape) - 1
        if len(set(sizes)) == 1 < len(sizes) and sizes[0] * each >= LEAST_PIECE:
            equal.append((axis, places, few or many))
        elif len(sizes) > 1 and (few or many):
            unequal.append((axis, places, True))
    return sorted(equal, key=lambda cut: -len(cut[1])) + unequal


def is_lane_fold(x: Node) -> bool:
    """Whether a node folds its input's last axis in lanes."""
    return x.op == "reduce" and x.params["lanes"]


def walk(value: Node) -> list[Node]:
    """A scalar's transitive operands."""
    found: list[Node] = []
    stack, seen = [value], {value}
    while stack:
        for x in stack.pop().inputs:
            if x not in seen:
                seen.add(x)
                found.append(x)
                stack.append(x)
    return found


def name_of(nodes: Sequence[Node]) -> str:
    """A readable name: the operation that the last result belongs to, and its scalar function."""
    last = nodes[-1]
    site = last.sites[0] if last.sites else None
    parts = [site.op if site else "", last.params.get("f") or last.params.get("monoid") or last.op]
    return "_".join(p.replace(".", "_") for p in parts if p)
