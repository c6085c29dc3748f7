"""From one flat index over nested axes to a place in memory: emitted index arithmetic.

Neighbouring axes that one stride serves are merged first, so most operands need one multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gnomon.codegen.emitter import Emitter

Dims = tuple[tuple[int, int], ...]
"""Nested axes, outermost first: (size, stride in elements) each."""


def merge(dims: Sequence[tuple[int, int]]) -> Dims:
    """The same walk over memory with as few axes as possible; there is always at least one.

    >>> merge([(2, 12), (3, 4), (1, 7), (4, 1)]), merge([(2, 0), (3, 0)]), merge([(2, 9), (3, 1)])
    (((24, 1),), ((6, 0),), ((2, 9), (3, 1)))
    """
    merged: list[tuple[int, int]] = []
    for size, stride in dims:
        if size == 1:
            continue
        if merged and merged[-1][1] == size * stride:
            size *= merged.pop()[0]
        merged.append((size, stride))
    return tuple(merged) or ((1, 0),)


def total(dims: Sequence[tuple[int, int]]) -> int:
    """How many indices the axes have together."""
    return prod(size for size, _ in dims)


def unflatten(e: Emitter, index: str, sizes: Sequence[int]) -> list[str]:
    """The index along each axis, from the flat one."""
    parts: list[str] = []
    for size in reversed(sizes[1:]):
        parts.append(e.value(f"urem i64 {index}, {size}"))
        index = e.value(f"udiv i64 {index}, {size}")
    return [index, *reversed(parts)]


def offset(e: Emitter, index: str, dims: Dims) -> str:
    """Where a flat index lies, in elements."""
    place = "0"
    parts = unflatten(e, index, [size for size, _ in dims])
    for part, (_, stride) in zip(parts, dims, strict=True):
        place = e.add(place, e.mul(part, stride))
    return place
