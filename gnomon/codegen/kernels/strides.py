"""Emit index arithmetic: from a flat index over nested axes to an address.

Neighbouring axes that one stride serves are merged first, so most operands need one multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gnomon.codegen.emitter import Emitter

Dims = tuple[tuple[int, int], ...]
"""Nested axes, outermost first: (size, stride in elements) each."""


def merge(dims: Sequence[tuple[int, int]]) -> Dims:
    """Merge axes that are contiguous in memory; at least one axis is left.

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
    """The number of indices of all axes together."""
    return prod(size for size, _ in dims)


@dataclass(frozen=True)
class NamedWalk:
    """A walk over axes whose sizes and strides are a function's parameters: names and values.

    Strides of 0 and 1 are part of the text, and so is the number of axes; nothing else is.
    """

    dims: tuple[tuple[str | int, str | int], ...]
    parameters: tuple[str, ...]
    numbers: tuple[int, ...]


def named_walk(dims: Dims, stem: str) -> NamedWalk:
    """The sizes and strides of a walk as parameters of a function, and their values."""
    pairs: list[tuple[str, int]] = []
    walk: list[tuple[str | int, str | int]] = []
    for k, (size, stride) in enumerate(dims):
        pairs.append((f"{stem}_size{k}", size if k else total(dims)))
        literal = next((each for each in (0, 1) if stride == each), None)
        if literal is None:
            pairs.append((f"{stem}_stride{k}", stride))
        walk.append((f"%{stem}_size{k}", f"%{stem}_stride{k}" if literal is None else literal))
    return NamedWalk(tuple(walk), tuple(name for name, _ in pairs), tuple(x for _, x in pairs))


def unflatten(e: Emitter, index: str, sizes: Sequence[int]) -> list[str]:
    """The index along each axis, from a flat index over these sizes."""
    parts: list[str] = []
    for size in reversed(sizes[1:]):
        parts.append(e.value(f"urem i64 {index}, {size}"))
        index = e.value(f"udiv i64 {index}, {size}")
    return [index, *reversed(parts)]


def offset(e: Emitter, index: str, dims: Dims) -> str:
    """The offset in elements that a flat index has by these sizes and strides."""
    place = "0"
    parts = unflatten(e, index, [size for size, _ in dims])
    for part, (_, stride) in zip(parts, dims, strict=True):
        place = e.add(place, e.mul(part, stride))
    return place
