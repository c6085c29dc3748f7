"""Storing: a tile's finished sums on their way to the result, a part of packed.py's writer.

The microkernel stores a whole tile itself where nothing is computed of its sums. Others wait in
scratch memory for an epilogue, row by row, vector by vector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnomon.codegen.emitter import LANES, Emitter, vector
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.product import Epilogue, MatmulSpec, VectorPlace, walk
from gnomon.codegen.kernels.strides import offset
from gnomon.codegen.kernels.tally import KBlock

NUMBERS = f"<{', '.join(f'i32 {k}' for k in range(LANES))}>"
"""0, 1, 2, ... in the lanes of a vector of i32."""
SsaBounds = tuple[str, str]
"""SSA names of the first panel and of the one after the last."""


@dataclass(frozen=True)
class TileRegion:
    """A rectangle of tiles in one batch, and its first row whose sums are pending, as SSA names."""

    batch: str
    a: str
    b: str
    rows: SsaBounds
    columns: SsaBounds
    first: str = ""


class Storing:
    """Mixin of product writers that stores finished sums."""

    e: Emitter
    spec: MatmulSpec
    tile: Tile
    epilogue: Epilogue
    sizes: tuple[int, int]
    plain: bool
    """Whether the epilogue stores sums as they are."""

    def finish(self, part: TileRegion, row: str, column: str, sums: str) -> None:
        """Emit the epilogue over one tile."""
        e, tile = self.e, self.tile
        first, left = self.first_row(row), e.mul(column, tile.columns)
        high = e.least(e.sub(self.rows, first), tile.rows)
        wide = e.least(e.sub(str(self.sizes[1]), left), tile.columns)

        def line(k: str) -> None:
            place = VectorPlace("%buffers", part.batch, e.add(first, k), left, None)
            self.finish_row(e.offset(sums, e.mul(k, tile.columns * tile.item)), place, wide)

        e.loop(0, high, 1, line)

    def finish_row(self, sums: str, start: VectorPlace, wide: str) -> None:
        """Emit the epilogue over one row of a tile: full vectors, then a masked one."""
        e, kind, item = self.e, vector(self.spec.sums), self.spec.item

        def piece(column: str, on: str | None) -> None:
            value = e.load(e.offset(sums, e.mul(column, item)), kind, item)
            place = replace(start, column=e.add(start.column, column), mask=on)
            self.epilogue(e, place, value)

        def ragged() -> None:
            left = e.value(f"trunc i64 {e.sub(wide, whole)} to i32")
            bound = e.broadcast(left, "i32")
            piece(whole, e.value(f"icmp slt {vector('i32')} {NUMBERS}, {bound}"))

        whole = e.value(f"and i64 {wide}, {-LANES}")
        e.loop(0, whole, LANES, lambda column: piece(column, None))
        e.when(e.value(f"icmp ne i64 {whole}, {wide}"), ragged)

    @property
    def rows(self) -> str:
        """The number of rows: where the last panel ends."""
        return str(self.sizes[0])

    def first_row(self, panel: str) -> str:
        """The first row of a panel of rows."""
        return self.e.mul(panel, self.tile.rows)

    @property
    def stores(self) -> bool:
        """Whether the microkernel can store a whole tile of finished sums itself."""
        rows, columns = walk(self.spec.rows, "c"), walk(self.spec.columns, "c")
        return self.plain and len(rows) == 1 and len(columns) == 1 and columns[0][1] == 1

    def goal_of(self, part: TileRegion, row: str, column: str, block: KBlock) -> tuple[str, str]:
        """The address for finished sums or null, and whether an epilogue has to follow."""
        e, tile = self.e, self.tile
        if not self.stores:
            return "null", block.last
        first, left = self.first_row(row), e.mul(column, tile.columns)
        high = e.value(f"icmp sge i64 {e.sub(self.rows, first)}, {tile.rows}")
        wide = e.value(f"icmp sge i64 {e.sub(str(self.sizes[1]), left)}, {tile.columns}")
        whole = e.value(f"and i1 {block.last}, {e.value(f'and i1 {high}, {wide}')}")
        goal = e.value(f"select i1 {whole}, ptr {self.results(part.batch, first, left)}, ptr null")
        return goal, e.value(f"xor i1 {block.last}, {whole}")

    def prefetch(self, part: TileRegion, row: str, column: str) -> None:
        """Emit prefetches of the lines that the epilogue will write."""
        e, tile = self.e, self.tile
        where = self.results(part.batch, self.first_row(row), e.mul(column, tile.columns))
        step = walk(self.spec.rows, "c")[-1][1] * self.spec.item
        for index in range(tile.rows):
            e.prefetch(e.offset(where, e.mul(step, index)), write=True)

    def results(self, batch: str, row: str, column: str) -> str:
        """The address of an element of C."""
        e, spec = self.e, self.spec
        where = str(spec.starts[2])
        groups = (batch, spec.batch), (row, spec.rows), (column, spec.columns)
        for index, axes in groups:
            where = e.add(where, offset(e, index, walk(axes, "c")))
        base = e.buffer(spec.slots.c)
        return e.offset(base, e.mul(where, spec.item))
