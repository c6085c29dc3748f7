"""Fast writing of traces: join pieces of text, then fill all their gaps at once.

A trace is mostly a few hundred distinct events at different times. Each is formatted once, with
gaps of fixed width for its times, and copied; NumPy writes the times into all copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

__all__ = ["Sheet", "counts", "decimals", "varints", "widest"]

AT_ONCE = 8192
"""The number of pieces in a sheet, few enough to stay in the cache."""

POWERS = np.array([1000, 100, 10, 1])


def quads(characters: np.ndarray) -> np.ndarray:
    """Rows of four characters, each as one 32-bit number."""
    return characters.astype(np.uint8).view(np.uint32)[:, 0]


FOUR = np.arange(10_000)[:, None] // POWERS % 10 + ord("0")
AFTER, DECIMALS = quads(FOUR), quads(np.where(POWERS == 1000, ord("."), FOUR))
"""The digits of numbers below 10000 after other digits, and of thousandths after the point."""
BEFORE = quads(np.where(np.arange(10_000)[:, None] < POWERS, ord(" "), FOUR))
LAST = np.concatenate((quads(np.frombuffer(b"   0", np.uint8)[None]), BEFORE[1:]))
"""The digits of the last four places of a number, padded with spaces."""


class Sheet:
    """Joined pieces of text with their begins and ends."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.text = bytearray().join(pieces)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        self.ends = np.cumsum(lengths)
        self.begins = self.ends - lengths

    @staticmethod
    def each(
        forms: Sequence[bytes], chosen: np.ndarray, *columns: np.ndarray
    ) -> Iterator[tuple[Sheet, Sequence[np.ndarray]]]:
        """Yield sheets of the chosen pieces, with the matching parts of the columns."""
        for first in range(0, len(chosen), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            yield Sheet([forms[k] for k in chosen[part].tolist()]), [x[part] for x in columns]

    def fill(self, places: np.ndarray, glyphs: np.ndarray) -> None:
        """Write a row of characters at each place."""
        width = glyphs.shape[1]
        if len(places):
            # a row is one thing to copy, and one may begin at every byte
            rows = np.ascontiguousarray(glyphs).view(f"V{width}")[:, 0]
            cells = np.ndarray((len(self.text) - width + 1,), rows.dtype, self.text, strides=(1,))
            cells[places] = rows


def decimals(values: np.ndarray, width: int, point: bool = False) -> np.ndarray:
    """Format integers as digits, padded with spaces; with a point, as thousandths.

    >>> [bytes(row) for row in decimals(np.array([7, 4321]), 5)]
    [b'    7', b' 4321']
    >>> [bytes(row) for row in decimals(np.array([7, 4321]), 6, point=True)]
    [b' 0.007', b' 4.321']
    """
    cells = np.empty((len(values), -(-width // 4) + 1), np.uint32)
    last, alone = cells.shape[1] - 1, LAST
    if point:
        values, rest = quotient_and_rest(values, 1000)
        cells[:, last] = DECIMALS.take(rest)
        last -= 1
    for place in range(last, -1, -1):
        values, rest = quotient_and_rest(values, 10_000)
        cells[:, place] = np.where(values > 0, AFTER.take(rest), alone.take(rest))
        alone = BEFORE
    return np.ascontiguousarray(cells.view(np.uint8)[:, -width:])


def quotient_and_rest(values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The quotient and remainder by a size; np.divmod takes several times as long."""
    whole = values // size
    return whole, values - size * whole


def widest(values: np.ndarray, point: bool = False) -> int:
    """The width of a gap for the greatest of some numbers.

    >>> widest(np.array([7, 4321])), widest(np.array([7]), point=True)
    (4, 5)
    """
    digits = len(str(int(values.max(initial=0))))
    return max(digits, 4) + 1 if point else digits


def varints(values: np.ndarray, width: int) -> np.ndarray:
    """Encode integers as protobuf varints (seven bits a byte), padded to one width."""
    groups = values[:, None] >> (7 * np.arange(width)) & 0x7F
    groups[:, :-1] |= 0x80
    return groups.astype(np.uint8)


def counts(many: np.ndarray) -> np.ndarray:
    """Concatenate 0, 1, ..., n - 1 for each n.

    >>> counts(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
