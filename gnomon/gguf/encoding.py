"""Numbers quantized to the blocks that decoding.py reads.

An encoder takes rows of 32 numbers of float32 and gives the bytes of a block for each, as gguf-py
does it, bit by bit. Those of k-quants are in k_quants.py.
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
"""Numbers that are encoded together: what a search needs meanwhile stays in a cache."""


def encoded(
    kind: ElementType, numbers: np.ndarray, importance: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """The bytes of numbers as a type stores them, piece by piece.

    importance: the weight of each column's squared errors, of float32; k-quants heed it.

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


def truncated(numbers: np.ndarray, most: int) -> np.ndarray:
    """Integers from 0 to the most, fractions cut off."""
    return np.trunc(numbers).clip(0, most).astype(np.uint8)


def around_zero(name: str, half: int, blocks: np.ndarray) -> np.ndarray:
    """The number of largest magnitude becomes -half, and q counts from there."""
    place = np.abs(blocks).argmax(axis=-1, keepdims=True)
    factor = np.take_along_axis(blocks, place, axis=-1) / np.float32(-half)
    q = truncated(blocks * inverse(factor) + np.float32(half + 0.5), 2 * half - 1)
    return np.concatenate((half_bytes(name, factor), *packed_bits(q, 2 * half - 1)), axis=-1)


def from_least(name: str, most: int, blocks: np.ndarray) -> np.ndarray:
    """The least number has q = 0, the largest the most."""
    least = blocks.min(axis=-1, keepdims=True)
    factor = (blocks.max(axis=-1, keepdims=True) - least) / np.float32(most)
    q = truncated((blocks - least) * inverse(factor) + np.float32(0.5), most)
    halves = half_bytes(name, factor), half_bytes(name, least)
    return np.concatenate((*halves, *packed_bits(q, most)), axis=-1)


def q8_0(blocks: np.ndarray) -> np.ndarray:
    """The largest magnitude becomes 127; halves are rounded away from zero."""
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
"""The encoders of types by name, but of those that are searched for."""
