"""Products whose left factor is read unpacked.

A panel of its rows stays in the first cache while it meets as many panels of columns as the second
cache holds, so that a copy would cost more than it saves. The last panel begins where it still has
all its rows; what it counts a second time is not stored.
"""

from __future__ import annotations

from collections.abc import Callable

from gnomon.codegen.kernels.blocking import DEEPEST, BlockingNumbers, numbers_of_tile
from gnomon.codegen.kernels.lines import Lines, Turned
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.packed import LINE, PackedWriter
from gnomon.codegen.kernels.product import MatmulSpec, count, walk
from gnomon.codegen.kernels.readers import ALIAS
from gnomon.codegen.kernels.storing import TileRegion
from gnomon.codegen.kernels.tally import KBlock
from gnomon.codegen.machine import COMMON, Machine

LEAST_ROWS = 16
"""With fewer, a tile might be higher than the product."""
MOST_COLUMNS = 128
"""With more columns, lines of which a panel takes a few bytes each are read too often."""


def reader_of(spec: MatmulSpec) -> type[Lines] | None:
    """The microkernel's source of an unpacked A; None if packing is faster on every processor."""
    rows, steps = walk(spec.rows, "a"), walk(spec.steps, "a")
    if spec.held("a") not in ("float", "double") or len(rows) > 1 or len(steps) > 1:
        return None
    if spec.left == "copied":
        return None
    high, wide, long = count(spec.rows), count(spec.columns), count(spec.steps)
    if high < LEAST_ROWS:
        return None
    if steps[0][1] == 1:
        deep = min(long, DEEPEST * 4 // spec.item)
        return Lines if deep == long or wide * deep * spec.item <= COMMON.l2 // 2 else None
    if rows[0][1] != 1 or wide > MOST_COLUMNS:
        return None
    return Turned if (spec.left or place_of(high * long * spec.item)) == "near" else None


def place_of(size: int) -> str:
    """The smallest cache that holds `size` bytes: "near", the second one, or "far"."""
    return "near" if size <= COMMON.l2 else "far"


class UnpackedWriter(PackedWriter):
    """Writer of a product that packs only B."""

    copied = "b"

    def make_tile(self, machine: Machine) -> Tile:
        """Choose the source of A; the tile is that of a packed product."""
        self.reader = reader_of(self.spec)
        self.left, self.near = self.reader(), machine.l2
        return super().make_tile(machine)

    def make_cut(self, machine: Machine) -> BlockingNumbers:
        """The blocking, with as many columns as fit into L2 beside the part of A that is read."""
        return numbers_of_tile(
            machine, self.tile, self.sizes, self.spec.letters, machine.l2 * 3 // 4
        )

    def first_read(self, panel: str) -> str:
        """The first row that a panel reads; the last panel ends at the end of A."""
        return self.e.least(self.first_row(panel), self.e.sub(self.rows, self.tile.rows))

    def left_of(
        self, panel: str, part: TileRegion, block: KBlock
    ) -> tuple[str, list[tuple[str, str]]]:
        """The microkernel's arguments for A: its first value in this block of K, and the stride."""
        e, item = self.e, self.tile.item
        row, step = (walk(axes, "a")[0][1] * item for axes in (self.spec.rows, self.spec.steps))
        first = e.mul(self.first_read(e.add(panel, part.rows[0])), row)
        place = e.offset(part.a, e.add(first, e.mul(block.start, step)))
        return place, [("i64", str(step if self.reader is Turned else row))]

    def tiles(self, part: TileRegion, body: Callable[[str, str], None]) -> None:
        """Emit the loops over a cache block's tiles; columns innermost keep rows of A in L1."""
        e = self.e
        e.loop(
            *part.rows, 1, lambda row: e.loop(*part.columns, 1, lambda column: body(row, column))
        )

    def one_tile(self, part: TileRegion, row: str, column: str, block: KBlock) -> None:
        """Emit a tile, with prefetches of the next rows if A is far in memory."""
        e, item = self.e, self.tile.item
        if self.reader is Lines:
            far = walk(self.spec.rows, "a")[0][1] * item
            large = e.value(f"icmp ugt i64 {self.sizes[0] * far}, {self.near}")
            # such rows would evict those at hand
            apart = e.value(f"icmp ne i64 {e.value(f'urem i64 {far}, {ALIAS}')}, 0")
            asks = e.value(f"and i1 {large}, {apart}")
            e.when(asks, lambda: self.ask_ahead(part, row, column, block))
        super().one_tile(part, row, column, block)

    def ask_ahead(self, part: TileRegion, row: str, column: str, block: KBlock) -> None:
        """Emit prefetches of a share of the next panel's rows; all columns' shares cover it."""
        e, item = self.e, self.tile.item
        start, ((_, far),) = self.left_of(e.add(e.sub(row, part.rows[0]), 1), part, block)
        size, wide = e.mul(block.units, item), e.mul(e.sub(part.columns[1], part.columns[0]), LINE)
        share = e.mul(e.value(f"udiv i64 {e.sub(e.add(size, wide), 1)}, {wide}"), LINE)
        begin = e.mul(e.sub(column, part.columns[0]), share)

        def some(place: str) -> None:
            for index in range(self.tile.rows):
                e.prefetch(e.offset(start, e.add(e.mul(far, index), place)))

        e.loop(begin, e.least(e.add(begin, share), size), LINE, some)

    def finish(self, part: TileRegion, row: str, column: str, sums: str) -> None:
        """Emit the epilogue over a tile's own rows."""
        e = self.e
        extra = e.sub(self.first_row(row), self.first_read(row))
        width = self.tile.columns * self.tile.item
        super().finish(part, row, column, e.offset(sums, e.mul(extra, width)))
