"""Values of A for the microkernel, read from where they are stored instead of from packed panels.

A is broadcast value by value, so any strides serve it. Two layouts: `Lines`, whose steps are
neighbours, and `Turned`, whose rows are. Used by unpacked.py and by attention's tiles.
"""

from __future__ import annotations

from gnomon.codegen.emitter import Emitter
from gnomon.codegen.kernels.microkernel import UNROLL, Left, Tile, fence

NARROW = 16
"""Bytes of vectors so short that what is loaded early would take the registers of sums."""


def is_narrow(tile: Tile) -> bool:
    """Whether a tile's sums leave only few registers for other values."""
    return tile.lanes * tile.item == NARROW


class Lines(Left):
    """The microkernel's A, unpacked, with contiguous steps; rows are `stride` bytes apart."""

    parameters = (("i64", "stride"),)

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Emit the distance of each row from the first, in bytes."""
        self.rows = [e.mul("%stride", row) for row in range(tile.rows)]

    def unit(self, tile: Tile) -> int:
        """The bytes from one step of a row to the next."""
        return tile.item

    def row(self, e: Emitter, tile: Tile, a: str, first: str) -> str:
        """The address of a row."""
        return e.offset(a, e.mul(first, "%stride"))

    def values(self, e: Emitter, tile: Tile, a: str) -> list[str]:
        """The value of every row of the tile."""
        made = []
        for number, start in enumerate(self.rows[: tile.rows]):
            if is_narrow(tile) and number and number % 2 == 0:
                fence(e)
            made.append(e.load(e.offset(a, start), tile.scalar, tile.item))
        return made


class Turned(Lines):
    """The microkernel's A, unpacked, with contiguous rows; steps are `stride` bytes apart."""

    def begin(self, e: Emitter, tile: Tile) -> None:
        """Emit the distances of rows from the first, and those of the next steps."""
        self.rows = [row * tile.item for row in range(tile.rows)]
        self.steps = [e.mul("%stride", step) for step in range(UNROLL + 1)]

    def row(self, e: Emitter, tile: Tile, a: str, first: str) -> str:
        """The address of a row's first step."""
        return e.offset(a, e.mul(first, tile.item))

    def at(self, e: Emitter, tile: Tile, a: str, units: int) -> str:
        """Advance the pointer by `units` lines."""
        return e.offset(a, self.steps[units])
