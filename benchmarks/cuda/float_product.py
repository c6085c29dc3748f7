"""A product of float32 in the CPU's order: text of its kernel.

A leaf is one chain of fused multiply-adds that starts at -0.0 (gnomon/codegen/kernels/order.py).
Each thread has 8 rows and 8 columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cuda.tiles import Tiles, Tiling

LEAVES = ((32, 4), (128, 16))
"""Pairs of (least steps of a leaf, most leaves); the pair that gives most counts."""
FOUR = range(4)


def leaves_of(steps: int) -> int:
    """Into how many leaves the CPU cuts a contracted axis (gnomon/ops/canonical.py).

    >>> leaves_of(4096), leaves_of(384), leaves_of(128), leaves_of(33)
    (16, 4, 4, 1)
    """
    found = []
    for least, most in LEAVES:
        count = 1
        while count < most and steps % (2 * count) == 0 and steps // (2 * count) >= least:
            count *= 2
        found.append(count)
    return max(found)


@dataclass(frozen=True)
class FloatShape(Tiling):
    """A tiling of float32; a warp has 64 rows and 32 columns. A's steps are neighbours, B's not."""

    depth: int = 16
    stages: int = 2
    levels: str = "rsss"

    factor = 4

    def text(self) -> str:
        """The kernel, named "product"."""
        return FloatProduct(self).text()


class FloatProduct(Tiles):
    """Writes one kernel."""

    start = "0f80000000"

    def __init__(self, shape: FloatShape) -> None:
        assert shape.rows // shape.warps[0] == 64, "float_product: a warp has 64 rows."
        assert shape.columns // shape.warps[1] == 32, "float_product: a warp has 32 columns."
        super().__init__(shape, 64)
        w, a = self.w, shape.operands[0]
        self.down, self.across = w.bits(self.lane, 0, 3), w.b32("shr.u32", self.lane, 3)
        # rows at distances of 8 turn chunks alike, and so do columns at distances of 16
        line = w.add(self.row, self.down)
        self.lines = [a.place(w, line, w.b32("mov.u32", j)) for j in range(shape.depth // 4)]
        chunk = w.add(w.b32("shr.u32", self.column, 2), self.across)
        self.chunks = {
            (turn, g): w.add(
                w.b32("shl.b32", w.b32("xor.b32", w.add(chunk, 4 * g), turn), 4), a.nbytes
            )
            for turn in range(min(8, shape.depth))
            for g in range(2)
        }

    # fragments

    def left(self, stage: str, j: int) -> list[list[str]]:
        """Four steps of each of this thread's 8 rows."""
        a = self.shape.operands[0]
        start = self.w.add(stage, self.lines[j])
        return [self.read(start, 8 * i * a.line) for i in range(8)]

    def right(self, stage: str, k: int) -> list[str]:
        """One step of this thread's 8 columns."""
        b = self.shape.operands[1]
        places = [self.w.add(stage, self.chunks[k % 8, g]) for g in range(2)]
        return [x for place in places for x in self.read(place, k * b.line)]

    def read(self, place: str, more: int) -> list[str]:
        """Four numbers of shared memory."""
        four = [self.w.new("f32") for _ in FOUR]
        self.w.do(f"ld.shared.v4.f32 {{{', '.join(four)}}}, [{place}+{more}]")
        return four

    # steps

    def first(self, stage: str) -> list[str]:
        """Registers of the first fragments of a stage, read."""
        self.opening = self.left(stage, 0), self.right(stage, 0)
        return [x for row in self.opening[0] for x in row] + self.opening[1]

    def slab(self, held: list[str], stages: tuple[str, str], slabs: tuple[str, str]) -> None:
        """The steps of a slab, one after the other; fragments are read before they are needed."""
        w, (source, goal) = self.w, stages
        depth = self.shape.depth
        (rows, columns), later = self.opening, self.opening[0]
        for k in range(depth):
            if k + 1 == depth:
                self.arrive()
                self.turn(source)
            if k == 0:
                self.request(*slabs, goal)
                self.turn(goal)
                w.do(f"add.u32 {slabs[0]}, {slabs[0]}, 1")
            if k % 4 == 3:
                later = self.left(source, (k + 1) % depth // 4)
            after = self.right(source, (k + 1) % depth)
            for i, row in enumerate(rows):
                for j, column in enumerate(columns):
                    total = self.sums[8 * i + j]
                    w.do(f"fma.rn.f32 {total}, {row[k % 4]}, {column}, {total}")
            rows, columns = later, after
        for old, new in zip(held, [x for row in rows for x in row] + columns, strict=True):
            w.do(f"mov.f32 {old}, {new}")

    # results

    def store(self, row: str, column: str) -> None:
        """Write a tile."""
        w, shape = self.w, self.shape
        top = w.add(w.add(row, self.row), self.down)
        first = w.add(w.add(column, self.column), w.b32("shl.b32", self.across, 2))
        for i in range(8):
            line = w.add(top, 8 * i)
            at = w.far(w.b64("mad.wide.u32", line, self.ldc, 0), first)
            address = w.b64("mad.lo.u64", at, 4, self.c)
            inside = w.pred("setp.lt.u32", line, self.m) if shape.careful else ""
            for g in range(2):
                four, where = self.sums[8 * i + 4 * g :][:4], w.add(first, 16 * g)
                if not shape.careful:
                    w.do(f"st.global.v4.f32 [{address}+{64 * g}], {{{', '.join(four)}}}")
                    continue
                for k, one in enumerate(four):
                    on = w.pred("setp.lt.and.u32", w.add(where, k), self.n, inside)
                    w.do(f"@{on} st.global.f32 [{address}+{64 * g + 4 * k}], {one}")
