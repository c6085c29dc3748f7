"""Quantize numbers to the blocks that decoding.py reads.

An encoder takes rows of 32 float32 numbers and returns the bytes of a block for each, bitwise as
gguf-py. k_quants.py has the encoders of k-quants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.gguf.element_types import ElementType, plain_dtype
from gnomon.gguf.k_quants import SEARCHES
from gnomon.gguf.packing import half_bytes, inverse, packed_bits

__all__ = ["ENCODERS", "encoded"]

Encoder = Callable[[np.ndarray], np.ndarray]


AT_ONCE = 1 << 15
"""The number of elements encoded at once, so that temporaries stay in the cache."""


def encoded(
    kind: ElementType, numbers: np.ndarray, importance: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Yield the bytes of numbers in a type's encoding, piece by piece.

    importance: the weight of each column's squared errors, in float32; only k-quants use it.

    Raises ArgumentError for numbers that blocks of the type cannot hold.
    """
    dtype, flat = plain_dtype(kind.name), numbers.reshape(-1)
    by_block = None if importance is None else importance.reshape(-1, kind.elements)
    for start in range(0, flat.size, AT_ONCE):
        piece = flat[start : start + AT_ONCE]
        if dtype is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                yield np.ascontiguousarray(piece, dtype).view(np.uint8)
            continue
        with np.errstate(over="ignore"):
            blocks = piece.astype(np.float32).reshape(-1, kind.elements)
        if not np.isfinite(blocks).all():
            raise ArgumentError(f"{kind.name} holds no infinities and no NaN")
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if kind.name in ENCODERS:
                found = ENCODERS[kind.name](blocks)
            else:
                places = start // kind.elements + np.arange(len(blocks))
                weights = None if by_block is None else by_block[places % len(by_block)]
                found = SEARCHES[kind.name](blocks, weights)
        yield found.reshape(-1)


def clip_integers(numbers: np.ndarray, most: int) -> np.ndarray:
    """Numbers clipped to 0 ... most and truncated to integers."""
    return np.trunc(numbers).clip(0, most).astype(np.uint8)


def around_zero(name: str, half: int, blocks: np.ndarray) -> np.ndarray:
    """Encode blocks around zero: the number of largest magnitude becomes -half."""
    place = np.abs(blocks).argmax(axis=-1, keepdims=True)
    factor = np.take_along_axis(blocks, place, axis=-1) / np.float32(-half)
    q = clip_integers(blocks * inverse(factor) + np.float32(half + 0.5), 2 * half - 1)
    return np.concatenate((half_bytes(name, factor), *packed_bits(q, 2 * half - 1)), axis=-1)


def from_least(name: str, most: int, blocks: np.ndarray) -> np.ndarray:
    """Encode blocks from their least number, as q = 0, to the largest, as q = most."""
    least = blocks.min(axis=-1, keepdims=True)
    factor = (blocks.max(axis=-1, keepdims=True) - least) / np.float32(most)
    q = clip_integers((blocks - least) * inverse(factor) + np.float32(0.5), most)
    halves = half_bytes(name, factor), half_bytes(name, least)
    return np.concatenate((*halves, *packed_bits(q, most)), axis=-1)


def q8_0(blocks: np.ndarray) -> np.ndarray:
    """Encode blocks as Q8_0: the largest magnitude becomes 127, ties round away from zero."""
    factor = np.abs(blocks).max(axis=-1, keepdims=True) / np.float32(127)
    scaled = blocks * inverse(factor)
    size = np.abs(scaled)
    whole = np.floor(size)
    rounded = whole + np.floor(2 * (size - whole))
    q = np.copysign(rounded, scaled).astype(np.int8)
    return np.concatenate((half_bytes("Q8_0", factor), q.view(np.uint8)), axis=-1)


ENCODERS: Mapping[str, Encoder] = MappingProxyType(
    {
        "Q4_0": partial(around_zero, "Q4_0", 8),
        "Q4_1": partial(from_least, "Q4_1", 15),
        "Q5_0": partial(around_zero, "Q5_0", 16),
        "Q5_1": partial(from_least, "Q5_1", 31),
        "Q8_0": q8_0,
    }
)
"""The encoders by type name, except those of k-quants."""
