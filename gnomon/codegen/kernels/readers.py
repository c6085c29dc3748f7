"""Rows of B for the microkernel, read from where they are stored instead of from packed panels.

Two layouts: `Along` its steps and `Across` them. What is done with them: direct.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnomon.codegen.emitter import Emitter, vector
from gnomon.codegen.kernels.microkernel import BroadcastRow, Right, Tile, fence, in_order
from gnomon.codegen.kernels.transposing import halves, read_turned, transpose
from gnomon.codegen.kernels.units import Source, units_across, units_along

HIGH = 6
"""Rows above which not all sums of a tile have registers at once."""
FEW = 2
"""Rows up to which a chain waits for its own last sum when it is alone."""
ALIAS = 4096
"""Bytes after which addresses share a set of the first cache, which holds eight lines."""
SHORT = 4096
"""Bytes of a column below which the processor hardly notices that it is read in a line."""
STREAMS = 8
"""Rows of B that are read side by side."""
LINE = 64
"""Bytes of a line of memory, all of which are used when it is there."""


class Along(Right):
    """The microkernel's B, unpacked, with contiguous steps; columns are `far` bytes apart.

    Squares are transposed in registers. Pairs that one lane holds are transposed as one, and split
    afterwards if the machine multiplies them one by one. Squares of several groups are stored
    first, so that their chains are interleaved and need few registers.
    """

    def __init__(self, source: Source, far: int, paired: bool) -> None:
        self.source, self.far = source, far
        self.split = paired and source.scalar == "bfloat" and source.together == 1

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Reserve stack memory for the transposed squares of a cache line of each column."""
        squares = max(1, LINE // self.unit(tile) // self.side(tile))
        e.do(f"%turned = alloca [{tile.columns * squares} x {tile.kind}], align {LINE}")

    def side(self, tile: Tile) -> int:
        """The units of each column in one transposed square; a lane may hold a pair of them."""
        return tile.lanes * (2 if self.split else 1)

    def groups(self, tile: Tile) -> list[range]:
        """The groups of vectors: for few rows all at once, unless their lines evict each other.

        Pairs that are split come in twice as many steps, so their chains are longer.
        """
        wide = tile.columns // tile.lanes
        together = wide if tile.rows <= FEW and (self.split or self.far % ALIAS) else 1
        return [range(j, j + together) for j in range(0, wide, together)]

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """The unroll factors: a cache line of each column; pairs, to keep their order; one."""
        line = LINE // self.unit(tile)
        return (line, 2, 1) if self.split else (line, 1)

    def unit(self, tile: Tile) -> int:
        """The bytes from one step of a column to the next."""
        return self.source.item * self.source.together

    def rows(
        self, e: Emitter, tile: Tile, b: str, part: tuple[int, range]
    ) -> Iterator[BroadcastRow]:
        """Yield for each unit the vectors of its row, from transposed squares or lane by lane."""
        (units, vectors), side = part, self.side(tile)
        groups = [j * tile.lanes for j in vectors]
        if units < side:
            for number in in_order(tile, units):
                yield number, [self.gather(e, tile, b, number, group) for group in groups]
            return
        if self.far < SHORT:
            self.ask_ahead(e, tile, b, groups)
        starts = [e.offset(b, place * self.unit(tile)) for place in range(0, units, side)]
        yield from self.squares(e, tile, starts, groups)

    def ask_ahead(self, e: Emitter, tile: Tile, b: str, groups: Sequence[int]) -> None:
        """Emit prefetches of the same cache line in the columns of the next tile."""
        for group in groups:
            for column in range(group, group + tile.lanes):
                e.prefetch(e.offset(b, (tile.columns + column) * self.far))

    def squares(
        self, e: Emitter, tile: Tile, starts: Sequence[str], groups: Sequence[int]
    ) -> Iterator[BroadcastRow]:
        """Yield the units of neighbouring squares of each group; of a pair the odd one is first."""
        if len(groups) == 1:
            for first, start in enumerate(starts):
                for number, value in enumerate(self.square(e, tile, start, groups[0])):
                    yield from self.units_of(e, tile, first * tile.lanes + number, [value])
            return
        kind, size = self.kind(tile), tile.lanes * tile.item
        for place, group in enumerate(groups):
            turned = [x for start in starts for x in self.square(e, tile, start, group)]
            for number, value in enumerate(turned):
                at = e.offset("%turned", (number * len(groups) + place) * size)
                e.store(value, at, kind, size)
        for number in range(tile.lanes * len(starts)):
            places = (number * len(groups) + place for place in range(len(groups)))
            columns = [e.load(e.offset("%turned", place * size), kind, size) for place in places]
            yield from self.units_of(e, tile, number, columns)

    def units_of(
        self, e: Emitter, tile: Tile, number: int, columns: list[str]
    ) -> Iterator[BroadcastRow]:
        """Yield a transposed unit, or the two units of a pair."""
        if not self.split:
            yield number, columns
            return
        pairs = [halves(e, pair, tile.lanes) for pair in columns]
        yield 2 * number + 1, [odd for _, odd in pairs]
        yield 2 * number, [even for even, _ in pairs]

    def kind(self, tile: Tile) -> str:
        """The LLVM type of a transposed vector."""
        return vector("i32", tile.lanes) if self.split else tile.kind

    def square(self, e: Emitter, tile: Tile, b: str, group: int) -> list[str]:
        """Emit one square of a group of columns, transposed: units, or pairs of them."""
        fence(e)
        starts = [e.offset(b, (group + k) * self.far) for k in range(tile.lanes)]
        if self.split or self.source.scalar == tile.scalar:
            return read_turned(e, "i32" if self.split else tile.scalar, starts, self.source.item)
        kind = vector(self.source.memory, tile.lanes * self.source.together)
        loaded = [e.load(start, kind, self.source.item) for start in starts]
        units = [units_along(e, self.source, value, tile.lanes) for value in loaded]
        return transpose(e, tile.scalar, units)

    def gather(self, e: Emitter, tile: Tile, b: str, number: int, group: int) -> str:
        """Emit one unit of a group of columns, loaded lane by lane."""
        kind = vector(self.source.memory, tile.lanes * self.source.together)
        value = "poison"
        for place in range(tile.lanes * self.source.together):
            column, step = divmod(place, self.source.together)
            where = (group + column) * self.far + number * self.unit(tile)
            where += step * self.source.item
            one = e.load(e.offset(b, where), self.source.memory, self.source.item)
            value = e.value(
                f"insertelement {kind} {value}, {self.source.memory} {one}, i32 {place}"
            )
        return units_along(e, self.source, value, tile.lanes)


class Across(Right):
    """The microkernel's B, unpacked, with contiguous columns; rows are `far` bytes apart."""

    def __init__(self, source: Source, far: int) -> None:
        self.source, self.far = source, far

    def groups(self, tile: Tile) -> list[range]:
        """All vectors of a row together, or one after another if registers do not suffice."""
        wide = tile.columns // tile.lanes
        together = wide if tile.rows <= HIGH else 1
        return [range(j, j + together) for j in range(0, wide, together)]

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """The unroll factors: all streams at once, then fewer."""
        return (STREAMS, 2, 1) if tile.step.paired else (STREAMS, 1)

    def unit(self, tile: Tile) -> int:
        """Bytes from one row to the next."""
        return self.far

    def rows(
        self, e: Emitter, tile: Tile, b: str, part: tuple[int, range]
    ) -> Iterator[BroadcastRow]:
        """Yield the vectors of each row of B, widened to the type of the sums."""
        (units, vectors), item = part, self.source.item
        kind = vector(self.source.memory, tile.lanes)
        for number in in_order(tile, units):
            start = e.offset(b, number * self.far)
            places = [e.offset(start, j * tile.lanes * item) for j in vectors]
            loaded = [e.load(place, kind, item) for place in places]
            yield (
                number,
                [units_across(e, self.source, [value], tile.lanes) for value in loaded],
            )
