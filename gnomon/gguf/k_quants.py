"""Quantize numbers to k-quants: blocks of 256 in groups, whose scales are quantized too.

Scales are searched for: each group takes, of several candidates and the best fit to the best of
them, the one with the smallest sum of weighted squared errors. Arrays have a group per column: sums
go over rows, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from gnomon.gguf.packing import half_bytes, inverse, packed_bits, packed_scales

__all__ = ["SEARCHES"]

Search = Callable[[np.ndarray, np.ndarray | None], np.ndarray]
OFFSETS = tuple(np.linspace(-2, 1, 11, dtype=np.float32))
"""Candidate scales with minima: the range is divided by the largest q plus each of these."""
STEPS = tuple(np.linspace(-32, -28, 13, dtype=np.float32))
"""Candidate scales around zero: the q of the number of largest magnitude."""


@dataclass(frozen=True)
class FittedParts:
    """Numbers to quantize, a group per column, and the weights of their squared errors."""

    numbers: np.ndarray
    weights: np.ndarray | None
    """The weights of squared errors; None means 1."""

    @classmethod
    def of(cls, blocks: np.ndarray, weights: np.ndarray | None, size: int) -> FittedParts:
        """Make groups of blocks, with each group's weights scaled to at most 1; all 0 become 1."""
        numbers = np.ascontiguousarray(blocks.reshape(-1, size).T)
        if weights is None:
            return cls(numbers, None)
        columns = np.ascontiguousarray(weights.reshape(-1, size).T)
        factor = inverse(columns.max(axis=0))
        return cls(numbers, np.where(factor > 0, columns * factor, np.float32(1)))

    def weighted(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers times weights."""
        return numbers if self.weights is None else numbers * self.weights

    @property
    def total(self) -> np.ndarray | np.float32:
        """The sum of weights of each group."""
        return np.float32(len(self.numbers)) if self.weights is None else summed(self.weights)


@dataclass
class Best:
    """The values with the smallest error so far, in each column."""

    error: np.ndarray
    values: tuple[np.ndarray, ...]

    def offer(self, error: np.ndarray, *values: np.ndarray) -> None:
        """Replace the values in columns where the new error is smaller."""
        better = error < self.error
        self.error = np.where(better, error, self.error)
        pairs = zip(values, self.values, strict=True)
        self.values = tuple(np.where(better, new, old) for new, old in pairs)


def summed(rows: np.ndarray) -> np.ndarray:
    """The sum of 2^n rows, by adding the second half to the first repeatedly."""
    while len(rows) > 1:
        half = len(rows) // 2
        rows = rows[:half] + rows[half:]
    return rows[0]


def round_clipped(numbers: np.ndarray, least: int, most: int) -> np.ndarray:
    """Round numbers in place and clip them to a range."""
    return np.clip(np.rint(numbers, out=numbers), least, most, out=numbers)


def with_minima(parts: FittedParts, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The best scales and minima of groups, as scale * q + minimum with minimum <= 0."""
    numbers, total, moments = parts.numbers, parts.total, parts.weighted(parts.numbers)
    least, sum_x = np.minimum(numbers.min(axis=0), 0), summed(moments)
    span = numbers.max(axis=0) - least
    best = Best(np.full_like(span, np.inf), (span / np.float32(most), least))

    def offer(factor: np.ndarray, minimum: np.ndarray) -> None:
        """Offer the best-fitting scale and minimum for the q of another scale and minimum."""
        q = round_clipped((numbers - minimum) * factor, 0, most)
        weighted = parts.weighted(q)
        sum_q, sum_qq, sum_qx = summed(weighted), summed(weighted * q), summed(moments * q)
        spread = total * sum_qq - sum_q * sum_q
        solved = (sum_qq * sum_x - sum_q * sum_qx) * inverse(spread)
        minimum = np.where(spread > 0, np.minimum(solved, 0), minimum)
        scale = (sum_qx - minimum * sum_q) * inverse(sum_qq)
        error = scale * (scale * sum_qq + 2 * (minimum * sum_q - sum_qx))
        best.offer(error + minimum * (minimum * total - 2 * sum_x), scale, minimum)

    for offset in OFFSETS:
        offer((most + offset) * inverse(span), least)
    offer(inverse(best.values[0]), best.values[1])
    return best.values[0], best.values[1]


def around_zero(parts: FittedParts) -> np.ndarray:
    """The best scales of groups, as scale * q with q from -32 to 31."""
    numbers, moments = parts.numbers, parts.weighted(parts.numbers)
    least, largest = numbers.min(axis=0), numbers.max(axis=0)
    top = np.where(-least >= largest, least, largest)
    best = Best(np.full_like(top, np.inf), (top / np.float32(-32),))

    def offer(factor: np.ndarray) -> None:
        """Offer the best-fitting scale for the q of another scale."""
        q = round_clipped(numbers * factor, -32, 31)
        sum_qx = summed(moments * q)
        scale = sum_qx * inverse(summed(parts.weighted(q) * q))
        best.offer(-scale * sum_qx, scale)

    for step in STEPS:
        offer(step * inverse(top))
    offer(inverse(best.values[0]))
    return best.values[0]


def multiples(
    name: str, numbers: np.ndarray, units: np.ndarray, least: int, most: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantize numbers to multiples of units: the units' bytes, the integers, the values."""
    content = half_bytes(name, units)
    half = content.view("<f2").astype(np.float32)
    q = round_clipped(numbers * inverse(half), least, most)
    return content, q.astype(np.int8).view(np.uint8), (half * q).reshape(-1)


def eight_parts(name: str, most: int, blocks: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Encode blocks of eight groups with minima, as Q4_K or Q5_K."""
    parts = FittedParts.of(blocks, weights, 32)
    scales, minima = with_minima(parts, most)
    scales = scales.reshape(-1, 8)
    largest = scales.max(axis=-1, keepdims=True) / np.float32(63)
    d, scale_q, scales = multiples(name, scales, largest, 0, 63)
    # the minima that fit the rounded scales
    q = round_clipped((parts.numbers - minima) * inverse(scales), 0, most)
    above = summed(parts.weighted(parts.numbers - scales * q)) * inverse(parts.total)
    below = np.maximum(-above, 0).reshape(-1, 8)
    deepest = below.max(axis=-1, keepdims=True) / np.float32(63)
    m, min_q, below = multiples(name, below, deepest, 0, 63)
    q = round_clipped((parts.numbers + below) * inverse(scales), 0, most)
    q = np.ascontiguousarray(q.T.astype(np.uint8)).reshape(-1, 8, 32)
    low = packed_bits(q.reshape(-1, 64), 15)[0].reshape(-1, 128)
    fifth = np.bitwise_or.reduce((q >> 4) << np.arange(8, dtype=np.uint8)[:, None], axis=1)
    head = d, m, packed_scales(scale_q, min_q)
    return np.concatenate((*head, fifth, low) if most > 15 else (*head, low), axis=-1)


def q6_k(blocks: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Encode blocks as Q6_K: sixteen groups with scales and no minima."""
    parts = FittedParts.of(blocks, weights, 16)
    scales = around_zero(parts).reshape(-1, 16)
    place = np.abs(scales).argmax(axis=-1, keepdims=True)
    unit = np.take_along_axis(scales, place, axis=-1) / np.float32(-128)
    d, scale_q, scales = multiples("Q6_K", scales, unit, -128, 127)
    q = round_clipped(parts.numbers * inverse(scales), -32, 31).T + np.float32(32)
    q = np.ascontiguousarray(q.astype(np.uint8)).reshape(-1, 2, 4, 32)
    low = packed_bits(q.reshape(-1, 128), 15)[0].reshape(-1, 128)
    shifts = np.arange(0, 8, 2, dtype=np.uint8)[:, None]
    high = np.bitwise_or.reduce((q >> 4) << shifts, axis=2).reshape(-1, 64)
    return np.concatenate((low, high, scale_q, d), axis=-1)


SEARCHES: Mapping[str, Search] = MappingProxyType(
    {
        "Q4_K": partial(eight_parts, "Q4_K", 15),
        "Q5_K": partial(eight_parts, "Q5_K", 31),
        "Q6_K": q6_k,
    }
)
"""The encoders of k-quants by type name, given blocks and weights."""
