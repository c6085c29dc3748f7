"""Pack the parts of blocks to bytes, for the encoders of all types."""

from __future__ import annotations

import numpy as np

from gnomon.errors import ArgumentError

__all__ = ["half_bytes", "inverse", "packed_bits", "packed_scales"]


def half_bytes(name: str, column: np.ndarray) -> np.ndarray:
    """The bytes of scales or minima in half precision; ArgumentError if they overflow."""
    found = column.astype("<f2")
    if not np.isfinite(found).all():
        raise ArgumentError(f"{name} holds no numbers as large as {np.abs(column).max():.3g}")
    return found.view(np.uint8)


def inverse(factor: np.ndarray) -> np.ndarray:
    """1 / factor, or 0 where that is not finite."""
    found = np.float32(1) / factor
    return np.where(np.isfinite(found), found, np.float32(0))


def packed_bits(q: np.ndarray, most: int) -> tuple[np.ndarray, ...]:
    """Pack integers to 4 bits each, and before them their fifth bits if they have 5."""
    half = q.shape[-1] // 2
    low = (q[:, :half] & 15) | (q[:, half:] << 4)
    return (np.packbits(q >> 4, axis=-1, bitorder="little"), low) if most > 15 else (low,)


def packed_scales(scales: np.ndarray, mins: np.ndarray) -> np.ndarray:
    """Pack eight scales and eight minima of 6 bits into twelve bytes.

    >>> packed_scales(np.full((1, 8), 33, np.uint8), np.full((1, 8), 16, np.uint8))
    array([[161, 161, 161, 161,  80,  80,  80,  80,   1,   1,   1,   1]],
          dtype=uint8)
    """
    first = scales[:, :4] | (scales[:, 4:] >> 4 << 6)
    second = mins[:, :4] | (mins[:, 4:] >> 4 << 6)
    last = (scales[:, 4:] & 15) | (mins[:, 4:] << 4)
    return np.concatenate((first, second, last), axis=-1)
