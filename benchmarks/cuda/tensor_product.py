"""A product of bf16 or fp16 by mma.sync, in the canonical order: text of its kernel.

Steps ascend 16 at a time; a leaf is one chain of instructions that starts at zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.cuda.tiles import Tiles, Tiling
from benchmarks.cuda.writer import Operand

LEAST, MOST = 512, 8
"""A leaf's steps at least, and leaves at most."""

Fragments = tuple[list[list[str]], list[list[str]]]
"""Registers of A's tiles of 16 rows, and of B's tiles of 8 columns."""


def leaves_of(steps: int) -> int:
    """Into how many leaves a sum of products is cut; each is a multiple of 64 steps.

    >>> leaves_of(4096), leaves_of(8192), leaves_of(1024), leaves_of(1023), leaves_of(1)
    (8, 8, 2, 1, 1)
    """
    count = 1
    while count < MOST and steps % (128 * count) == 0 and steps // (2 * count) >= LEAST:
        count *= 2
    return count


@dataclass(frozen=True)
class Shape(Tiling):
    """A tiling of factors of 16 bits. `wide`: C is float32, else of the factors' type."""

    kind: str = "bf16"
    wide: bool = False

    @property
    def item(self) -> int:
        """Bytes of a result."""
        return 4 if self.wide else 2

    def text(self) -> str:
        """The kernel, named "product"."""
        return Product(self).text()


class Product(Tiles):
    """Writes one kernel."""

    shape: Shape

    def __init__(self, shape: Shape) -> None:
        self.tiles = shape.rows // shape.warps[0] // 16, shape.columns // shape.warps[1] // 8
        super().__init__(shape, 4 * self.tiles[0] * self.tiles[1])
        self.places()

    # fragments

    def places(self) -> None:
        """Where this thread's lines of fragments lie in a stage, for ldmatrix."""
        w, (a, b) = self.w, self.shape.operands
        low, third, fourth = (
            w.bits(self.lane, 0, 3),
            w.bits(self.lane, 3, 1),
            w.bits(self.lane, 4, 1),
        )
        # A's four matrices of 8 x 8: rows first, then steps; B's: steps first, then columns
        self.near = self.lines(a, self.row, (low, third, fourth), self.tiles[0])
        self.opposite = self.lines(b, self.column, (low, fourth, third), self.tiles[1] // 2)
        self.opposite = [w.add(x, a.nbytes) for x in self.opposite]

    def lines(self, x: Operand, first: str, bits: tuple[str, str, str], count: int) -> list[str]:
        """Offsets: one for each 16 steps, or one for each 16 rows.

        bits: of the lane, its line in a matrix, whether 8 rows and whether 8 steps further.
        """
        w, (low, rows, steps) = self.w, bits
        if x.steps_first:
            line = w.add(w.add(first, low), w.b32("shl.b32", rows, 3))
            return [x.place(w, line, w.add(steps, 2 * j)) for j in range(self.shape.depth // 16)]
        line, chunk = (
            w.add(low, w.b32("shl.b32", steps, 3)),
            w.add(w.b32("shr.u32", first, 3), rows),
        )
        return [x.place(w, line, w.add(chunk, 2 * i)) for i in range(count)]

    def fragments(self, stage: str, j: int) -> Fragments:
        """The registers of A's tiles and of B's, for 16 steps of a stage."""
        a, b = self.shape.operands
        rows = self.matrices(a, self.near, (stage, j), self.tiles[0])
        pairs = self.matrices(b, self.opposite, (stage, j), self.tiles[1] // 2)
        return rows, [half for four in pairs for half in (four[:2], four[2:])]

    def matrices(
        self, x: Operand, places: list[str], at: tuple[str, int], count: int
    ) -> list[list[str]]:
        """Four matrices for each 16 rows."""
        w, (stage, j), found = self.w, at, []
        turned = "" if x.steps_first else ".trans"
        chosen = [places[j]] if x.steps_first else places[:count]
        starts = [w.add(stage, place) for place in chosen] * (count // len(chosen))
        for i, start in enumerate(starts):
            more = 16 * x.line * (i if x.steps_first else j)
            four = [w.new("b32") for _ in range(4)]
            named = ", ".join(four)
            w.do(f"ldmatrix.sync.aligned.m8n8.x4{turned}.shared.b16 {{{named}}}, [{start}+{more}]")
            found.append(four)
        return found

    def multiply(self, fragments: Fragments) -> None:
        """16 steps of all tiles."""
        kind = self.shape.kind
        name = f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32"
        for i, a in enumerate(fragments[0]):
            for k, b in enumerate(fragments[1]):
                sums = ", ".join(self.sums[4 * (i * self.tiles[1] + k) :][:4])
                given = f"{{{', '.join(a)}}}, {{{', '.join(b)}}}"
                self.w.do(f"{name} {{{sums}}}, {given}, {{{sums}}}")

    # steps

    def first(self, stage: str) -> list[str]:
        """Registers of the first fragments of a stage, read."""
        self.opening = self.fragments(stage, 0)
        return flat(self.opening)

    def slab(self, held: list[str], stages: tuple[str, str], slabs: tuple[str, str]) -> None:
        """The steps of a slab; fragments of the next 16 steps are read before they are needed."""
        w, (source, goal) = self.w, stages
        count, now = self.shape.depth // 16, self.opening
        for j in range(count):
            if j + 1 == count:
                self.arrive()
                self.turn(source)
            after = self.fragments(source, (j + 1) % count)
            if j == 0:
                self.request(*slabs, goal)
                self.turn(goal)
                w.do(f"add.u32 {slabs[0]}, {slabs[0]}, 1")
            self.multiply(now)
            now = after
        for old, new in zip(held, flat(now), strict=True):
            w.do(f"mov.b32 {old}, {new}")

    # results

    def store(self, row: str, column: str) -> None:
        """Write a tile."""
        w, shape = self.w, self.shape
        top = w.add(w.add(row, self.row), w.b32("shr.u32", self.lane, 2))
        first = w.add(w.add(column, self.column), w.b32("shl.b32", w.bits(self.lane, 0, 2), 1))
        for i in range(self.tiles[0]):
            for half in range(2):
                line = w.add(top, 16 * i + 8 * half)
                at = w.far(w.b64("mad.wide.u32", line, self.ldc, 0), first)
                address = w.b64("mad.lo.u64", at, shape.item, self.c)
                inside = w.pred("setp.lt.u32", line, self.m) if shape.careful else ""
                for k in range(self.tiles[1]):
                    two = self.sums[4 * (i * self.tiles[1] + k) + 2 * half :][:2]
                    where = w.add(first, 8 * k), inside
                    self.store_two((address, 8 * k * shape.item), two, where)

    def store_two(self, at: tuple[str, int], two: list[str], where: tuple[str, str]) -> None:
        """Write two neighbours; where: their column, and whether their row exists."""
        w, shape = self.w, self.shape
        (address, more), (column, inside) = at, where
        if not shape.careful:
            self.pair(f"[{address}+{more}]", two, "")
        elif shape.aligned:
            on = w.pred("setp.lt.and.u32", column, self.n, inside)
            self.pair(f"[{address}+{more}]", two, f"@{on} ")
        else:
            for k, one in enumerate(two):
                on = w.pred("setp.lt.and.u32", w.add(column, k), self.n, inside)
                kind, value = "f32", one
                if not shape.wide:
                    kind, value = "b16", w.of("b16", f"cvt.rn.{shape.kind}.f32", one)
                w.do(f"@{on} st.global.{kind} [{address}+{more + k * shape.item}], {value}")

    def pair(self, place: str, two: list[str], on: str) -> None:
        """Write two neighbours at once."""
        if self.shape.wide:
            self.w.do(f"{on}st.global.v2.f32 {place}, {{{', '.join(two)}}}")
            return
        both = self.w.b32(f"cvt.rn.{self.shape.kind}x2.f32", two[1], two[0])
        self.w.do(f"{on}st.global.b32 {place}, {both}")


def flat(fragments: Fragments) -> list[str]:
    """All registers."""
    return [x for side in fragments for tile in side for x in tile]
