"""Rows of B for the microkernel, read from where they are stored instead of from packed panels.

Two layouts: `Along` its steps and `Across` them. What is done with them: direct.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from gnomon.codegen.emitter import Emitter, splat, vector
from gnomon.codegen.kernels.microkernel import Right, Row, Tile, in_order
from gnomon.codegen.kernels.packing import transpose
from gnomon.codegen.kernels.units import Source, units_across, units_along

HIGH = 6
"""Rows above which not all sums of a tile have registers at once."""
FEW = 2
"""Rows up to which a chain waits for its own last sum when it is alone."""
ALIAS = 4096
"""Bytes after which addresses share a set of the first cache, which holds eight lines."""
STREAMS = 8
"""Rows of B that are read side by side."""
LINE = 64
"""Bytes of a line of memory, all of which are used when it is there."""


class Along(Right):
    """`b` points at the first column's steps, which are neighbours; columns are `far` bytes apart.

    Squares are transposed in registers. Pairs that one lane holds are transposed as one, and taken
    apart afterwards where the machine multiplies them one by one.
    """

    def __init__(self, source: Source, far: int, paired: bool) -> None:
        self.source, self.far = source, far
        self.split = paired and source.scalar == "bfloat" and source.together == 1

    def groups(self, tile: Tile) -> list[range]:
        """Few chains side by side, unless their lines evict each other; else one after another."""
        wide = tile.columns // tile.lanes
        together = wide if tile.rows <= FEW and self.far % ALIAS else 1
        return [range(j, j + together) for j in range(0, wide, together)]

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """A line of memory of each column; then pairs, so that their order is kept; then one."""
        line = LINE // self.unit(tile)
        return (line, 2, 1) if self.split else (line, 1)

    def unit(self, tile: Tile) -> int:
        """A column's next step."""
        return self.source.item * self.source.together

    def rows(self, e: Emitter, tile: Tile, b: str, part: tuple[int, range]) -> Iterator[Row]:
        """Vectors of each unit: from squares, or gathered."""
        (units, vectors), side = part, tile.lanes * (2 if self.split else 1)
        groups = [j * tile.lanes for j in vectors]
        if units < side:
            for number in in_order(tile, units):
                yield number, [self.gather(e, tile, b, number, group) for group in groups]
            return
        for first in range(0, units, side):
            start = e.offset(b, first * self.unit(tile))
            squares = [self.square(e, tile, start, group) for group in groups]
            for number in in_order(tile, side):
                yield first + number, [square[number] for square in squares]

    def square(self, e: Emitter, tile: Tile, b: str, group: int) -> list[str]:
        """The vectors of a square: so many units of one group of columns."""
        fence(e)
        starts = [e.offset(b, (group + k) * self.far) for k in range(tile.lanes)]
        if not self.split:
            kind = vector(self.source.memory, tile.lanes * self.source.together)
            loaded = [e.load(start, kind, self.source.item) for start in starts]
            units = [units_along(e, self.source, value, tile.lanes) for value in loaded]
            return transpose(e, tile.scalar, units)
        pairs = [e.load(start, vector("i32", tile.lanes), self.source.item) for start in starts]
        turned = transpose(e, "i32", pairs)
        return [half for pair in turned for half in halves(e, tile, pair)]

    def gather(self, e: Emitter, tile: Tile, b: str, number: int, group: int) -> str:
        """One unit of a group of columns, loaded one by one."""
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


def halves(e: Emitter, tile: Tile, pair: str) -> tuple[str, str]:
    """The even and the odd factors of pairs of bfloat, as floats."""
    kind = vector("i32", tile.lanes)
    even = e.value(f"shl {kind} {pair}, {splat(16, 'i32', tile.lanes)}")
    odd = e.value(f"and {kind} {pair}, {splat(-65536, 'i32', tile.lanes)}")
    first, second = (e.value(f"bitcast {kind} {x} to {tile.kind}") for x in (even, odd))
    return first, second


class Across(Right):
    """`b` points at a row of B as it is stored; rows are `far` bytes apart."""

    def __init__(self, source: Source, far: int) -> None:
        self.source, self.far = source, far

    def groups(self, tile: Tile) -> list[range]:
        """All, or one after another where not all sums have registers."""
        wide = tile.columns // tile.lanes
        together = wide if tile.rows <= HIGH else 1
        return [range(j, j + together) for j in range(0, wide, together)]

    def unrolls(self, tile: Tile) -> tuple[int, ...]:
        """All streams at once where there are as many."""
        return (STREAMS, 2, 1) if tile.step.paired else (STREAMS, 1)

    def unit(self, tile: Tile) -> int:
        """The next row."""
        return self.far

    def rows(self, e: Emitter, tile: Tile, b: str, part: tuple[int, range]) -> Iterator[Row]:
        """The vectors of each row, widened."""
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


def fence(e: Emitter) -> None:
    """Keep later loads from being moved up, where their values would only wait for registers."""
    e.do('call void asm sideeffect "", "~{memory}"()')
