"""Products of few columns: A is read where it lies, since a copy would cost more than it saves.

Its steps must be neighbours in memory. The last panel begins where it still has all its rows; what
it counts a second time is not stored.
"""

from __future__ import annotations

from gnomon.codegen.emitter import Emitter
from gnomon.codegen.kernels.microkernel import Left, Tile
from gnomon.codegen.kernels.packed import Region, Writer
from gnomon.codegen.kernels.product import MatmulSpec, count, walk
from gnomon.codegen.kernels.tally import Block

MOST_COLUMNS = 192
"""With more columns, panels are read so often that they had better lie in order."""
LEAST_ROWS = 16
"""With fewer, a tile might be higher than the product."""


def reads_left(spec: MatmulSpec) -> bool:
    """Whether A is better read where it lies."""
    rows, steps = walk(spec.rows, "a"), walk(spec.steps, "a")
    if spec.scalar not in ("float", "double") or len(rows) > 1 or len(steps) > 1:
        return False
    few = count(spec.columns) <= MOST_COLUMNS and count(spec.rows) >= LEAST_ROWS
    return few and steps[0][1] == 1


class Rows(Left):
    """Values of A where they lie: `a` points at the first row's, rows are `far` bytes apart."""

    parameters = (("i64", "far"),)

    def unit(self, tile: Tile) -> int:
        """The next value of each row."""
        return tile.item

    def values(self, e: Emitter, tile: Tile, a: str) -> list[str]:
        """The value of every row of the tile."""
        places = (e.offset(a, e.mul("%far", i)) for i in range(tile.rows))
        return [e.load(place, tile.scalar, tile.item) for place in places]


class UnpackedWriter(Writer):
    """Writes a product that packs B alone."""

    copied = "b"
    left = Rows()

    def first_read(self, panel: str) -> str:
        """The first row that a panel reads."""
        return self.e.least(self.first_row(panel), self.e.sub(self.rows, self.tile.rows))

    def left_of(self, panel: str, part: Region, block: Block) -> tuple[str, list[tuple[str, str]]]:
        """The panel's first value in this block of K, and how far rows are apart."""
        e, item = self.e, self.tile.item
        far = e.mul(walk(self.spec.rows, "a")[0][1], item)
        row = e.mul(self.first_read(e.add(panel, part.rows[0])), far)
        return e.offset(part.a, e.add(row, e.mul(block.start, item))), [("i64", far)]

    def finish(self, part: Region, row: str, column: str, sums: str) -> None:
        """The epilogue over a tile's own rows."""
        e = self.e
        extra = e.sub(self.first_row(row), self.first_read(row))
        width = self.tile.columns * self.tile.item
        super().finish(part, row, column, e.offset(sums, e.mul(extra, width)))
