"""Bags of table rows: the sum of the rows that each bag names.

Threads share bags; the rows of the next bag are asked for while those of this one are added.
Positions of −1 are no lookups. Steps of rows are in bag_steps.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnomon.codegen import scalar
from gnomon.codegen.blocks import ChainBlocks, scratch_of
from gnomon.codegen.emitter import KERNEL, LANES, Emitter, LLVMModule, mask, splat, vector
from gnomon.codegen.kernels.sharing import part
from gnomon.dtypes import float32
from gnomon.ops import canonical

GROUP = 4
"""Vectors of a row that are added up side by side."""
LINE = 64
F32 = vector("float")


@dataclass(frozen=True)
class BagSpec:
    """A table (rows, width), bags of one size; `stride`: elements between bags' results."""

    rows: int
    width: int
    bags: int
    size: int
    stride: int
    weighted: bool = False
    rule: str = "sgd"
    decays: bool = False

    @property
    def vectors(self) -> list[tuple[int, int]]:
        """The first element and the lanes of each vector of a row."""
        return [(k, min(LANES, self.width - k)) for k in range(0, self.width, LANES)]

    @property
    def lookups(self) -> int:
        """Positions in a batch."""
        return self.bags * self.size


def load_lanes(e: Emitter, place: str, lanes: int) -> str:
    """Load `lanes` floats as a vector of 16, with 0 in the others."""
    if lanes == LANES:
        return e.load(place, F32, 4)
    return e.load_masked(place, mask(lanes), "float")


def store_lanes(e: Emitter, value: str, place: str, lanes: int) -> None:
    """Store the first lanes of a vector."""
    if lanes == LANES:
        e.store(value, place, F32, 4)
    else:
        e.store_masked(value, place, mask(lanes), "float")


def prefetch_row(e: Emitter, row: str, width: int, write: bool = False) -> None:
    """Emit prefetches of a row's cache lines; the address may be outside of the table.

    A row that is no number of whole lines may end in one more.
    """
    for byte in (*range(0, 4 * width, LINE), *([4 * width - 1] if 4 * width % LINE else [])):
        e.prefetch(e.offset(row, byte), write)


def apply(e: Emitter, f: str, *operands: str) -> str:
    """Emit a scalar function of one or two vectors of float32."""
    return scalar.apply(e, f, list(operands), float32, float32)


# looking up


def emit_bags(module: LLVMModule, name: str, spec: BagSpec) -> int:
    """Define kernel `name` of embedding bags: results, table, positions, weights, report, check."""
    BagsWriter(module.function(name, KERNEL), spec).write()
    return scratch_of(GROUP) if spec.size > canonical.BLOCK else 0


class BagsWriter:
    """Writer of the kernel that sums table rows over bags."""

    def __init__(self, e: Emitter, spec: BagSpec) -> None:
        self.e, self.spec = e, spec
        self.out, self.table, self.index = map(e.buffer, range(3))
        if spec.weighted:
            self.weights = e.buffer(3)
        buffers = 3 + spec.weighted
        self.report = e.buffer(buffers)
        self.first_check = e.load(e.offset("%buffers", 8 * buffers + 8), "i64", 8)

    def write(self) -> None:
        """Define the kernel: threads share bags."""
        e, bags = self.e, self.spec.bags
        low, high = part(e, bags, "%thread", "%threads")
        self.last = e.mul(high, self.spec.size)
        e.loop(low, high, 1, self.bag)
        e.ret()

    def bag(self, bag: str) -> None:
        """Emit the sums of one bag, a few vectors of its rows at a time."""
        vectors = self.spec.vectors
        for k in range(0, len(vectors), GROUP):
            self.columns(bag, vectors[k : k + GROUP], first=k == 0)

    def columns(self, bag: str, vectors: Sequence[tuple[int, int]], first: bool) -> None:
        """Emit the sums of some vectors over a bag, as one chain in blocks of terms."""
        e, spec = self.e, self.spec
        begin = e.mul(bag, spec.size)

        def one(i: str, *sums: str) -> list[str]:
            row = self.row(self.position(i))
            if first:
                later = e.least(e.add(i, spec.size), e.sub(self.last, 1))
                prefetch_row(e, self.row(self.position(later)), spec.width)
                self.check(i)
            return self.added(row, i, vectors, sums)

        state = [(F32, splat(-0.0, "float"))] * len(vectors)

        def stretch(low: str | int, high: str | int) -> list[str]:
            return e.loop(e.add(begin, low), e.add(begin, high), 1, one, state)

        length = canonical.BLOCK
        if spec.size > length:
            blocks = ChainBlocks(e, state, lambda j, a, b: apply(e, "add", a, b), "%scratch")
            blocked = blocks.over(-(-spec.size // length), length, str(spec.size), stretch)
            sums = blocks.joined(blocked)
        else:
            sums = stretch(0, spec.size)
        for (column, lanes), total in zip(vectors, sums, strict=True):
            place = e.offset(self.out, e.mul(e.add(e.mul(bag, spec.stride), column), 4))
            store_lanes(e, apply(e, "add", total, splat(0.0, "float")), place, lanes)

    def added(
        self, row: str, i: str, vectors: Sequence[tuple[int, int]], sums: Sequence[str]
    ) -> list[str]:
        """The sums with a row added, or unchanged if its position is outside of the table."""
        e, inside, after = self.e, self.e.fresh("row"), self.e.fresh("next")
        there = e.value(f"icmp ult i64 {self.position(i)}, {self.spec.rows}")
        before = e.block
        e.do(f"br i1 {there}, label %{inside}, label %{after}")
        e.label(inside)
        parts = [load_lanes(e, e.offset(row, 4 * column), lanes) for column, lanes in vectors]
        if self.spec.weighted:
            weight = e.broadcast(e.load(e.offset(self.weights, e.mul(i, 4)), "float", 4))
            parts = [apply(e, "mul", part, weight) for part in parts]
        following = [apply(e, "add", a, b) for a, b in zip(sums, parts, strict=True)]
        end = e.block
        e.do(f"br label %{after}")
        e.label(after)
        return [
            e.value(f"phi {F32} [{a}, %{before}], [{b}, %{end}]")
            for a, b in zip(sums, following, strict=True)
        ]

    def position(self, i: str) -> str:
        """The row number that a lookup has."""
        return self.e.load(self.e.offset(self.index, self.e.mul(i, 8)), "i64", 8)

    def row(self, position: str) -> str:
        """The address of a row."""
        return self.e.offset(self.table, self.e.mul(position, 4 * self.spec.width))

    def check(self, i: str) -> None:
        """Report a position that is neither a row nor −1."""
        report_position(self.e, self.position(i), self.spec.rows, self.report, self.first_check)


def report_position(e: Emitter, position: str, rows: int, report: str, first: str) -> None:
    """Report a position that is neither a row nor −1."""
    outside = e.value(f"icmp uge i64 {e.add(position, 1)}, {rows + 1}")
    e.when(outside, lambda: e.store(e.add(first, 1), report, "i64", 8))
