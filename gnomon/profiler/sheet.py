"""Bulk writing: pieces of text joined as they are, then their holes filled all at once.

A trace is mostly the same few hundred events at other times. Each such event is written once, with
a hole of fixed width where its time goes, and repeated; numpy writes the times of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["AT_ONCE", "Sheet", "decimals", "varints", "widest"]

THREE = np.frombuffer("".join(f"{n:03d}" for n in range(1000)).encode(), np.uint8).reshape(-1, 3)
AT_ONCE = 8192
"""Pieces that are filled together: few enough to stay near the processor."""
POINT, SPACE, ZERO = b". 0"


class Sheet:
    """Pieces in a row, each with where it begins and ends."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.text = bytearray().join(pieces)
        self._cells = np.frombuffer(self.text, np.uint8)
        lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
        self.ends = np.cumsum(lengths)
        self.begins = self.ends - lengths

    def fill(self, places: np.ndarray, glyphs: np.ndarray) -> None:
        """Write a row of glyphs at each place."""
        self._cells[places[:, None] + np.arange(glyphs.shape[1])] = glyphs


def decimals(values: np.ndarray, width: int, point: bool = False) -> np.ndarray:
    """Whole numbers as digits, with spaces before; with a point, thousandths as decimals.

    >>> [bytes(row) for row in decimals(np.array([7, 4321]), 5)]
    [b'    7', b' 4321']
    >>> [bytes(row) for row in decimals(np.array([7, 4321]), 6, point=True)]
    [b' 0.007', b' 4.321']
    """
    digits = width - point
    chunks = -(-digits // 3)
    text = np.empty((len(values), 3 * chunks), np.uint8)
    for chunk in range(chunks - 1, -1, -1):
        values, rest = np.divmod(values, 1000)
        text[:, 3 * chunk : 3 * chunk + 3] = THREE[rest]
    text = text[:, 3 * chunks - digits :]
    whole = text[:, : digits - (3 if point else 0)]
    before = whole[:, :-1]
    before[np.logical_and.accumulate(before == ZERO, axis=1)] = SPACE
    if not point:
        return text
    dot = np.full((len(text), 1), POINT, np.uint8)
    return np.concatenate((whole, dot, text[:, digits - 3 :]), axis=1)


def widest(values: np.ndarray, point: bool = False) -> int:
    """How wide a hole for the greatest of some numbers is.

    >>> widest(np.array([7, 4321])), widest(np.array([7]), point=True)
    (4, 5)
    """
    digits = len(str(int(values.max(initial=0))))
    return max(digits, 4) + 1 if point else digits


def varints(values: np.ndarray, width: int) -> np.ndarray:
    """Whole numbers as protobuf has them, seven bits a byte, filled up to one width."""
    groups = values[:, None] >> (7 * np.arange(width)) & 0x7F
    groups[:, :-1] |= 0x80
    return groups.astype(np.uint8)
