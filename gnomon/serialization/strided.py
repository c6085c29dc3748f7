"""Offset, sizes and strides of PyTorch's as a view of a storage: slices, a permutation, repeats."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

import gnomon as gn
from gnomon.errors import brief

__all__ = ["is_whole", "strided"]

LARGEST_REPEAT = 1 << 22
"""Elements that a tensor may show of a storage that has fewer."""


def strided(storage: gn.Tensor, offset: int, size: tuple, stride: tuple) -> gn.Tensor:
    """The elements of a storage, which has one axis, at an offset and in steps of strides.

    A write to what overlaps otherwise than by repeating is not seen by the storage: it is a copy.
    """
    check(storage.numel(), offset, size, stride)
    if 0 in size:
        return storage[:0].reshape(size)
    moving = [k for k, (n, step) in enumerate(zip(size, stride, strict=True)) if n > 1 and step]
    moving.sort(key=lambda k: -stride[k])
    sizes = [size[k] for k in moving]
    found = sliced(storage, offset, *merged(sizes, [stride[k] for k in moving]))
    if found is None:
        return storage[places(offset, size, stride)]
    order = sorted(range(len(moving)), key=lambda k: moving[k])
    shape = [n if k in moving else 1 for k, n in enumerate(size)]
    return found.reshape(sizes).permute(order).reshape(shape).expand(size)


def is_whole(numel: int, offset: int, size: tuple, stride: tuple) -> bool:
    """Whether a tensor shows all elements of a storage in their order."""
    check(numel, offset, size, stride)
    axes = [(n, step) for n, step in zip(size, stride, strict=True) if n != 1]
    found = merged([n for n, _ in axes], [step for _, step in axes])
    return prod(size) == numel and offset == 0 and found in (([numel], [1]), ([], []))


def check(numel: int, offset: int, size: tuple, stride: tuple) -> None:
    """Refuse what a storage does not have."""
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or not all(type(n) is int and n >= 0 for n in numbers):
        raise ValueError(f"a tensor has size {brief(size)} and strides {brief(stride)}")
    count = prod(size)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if offset > numel or (count and last >= numel) or count > max(numel, LARGEST_REPEAT):
        raise ValueError(
            f"a tensor of size {brief(size)}, strides {brief(stride)} and offset {offset} needs "
            f"more than the {numel} elements of its storage"
        )


def merged(sizes: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Sizes and strides in which neighbouring axes that lie like one are one.

    >>> merged([2, 3, 4], [24, 4, 1])
    ([2, 12], [24, 1])
    """
    kept: list[tuple[int, int]] = []
    for n, step in zip(sizes, strides, strict=True):
        if kept and kept[-1][1] == n * step:
            kept[-1] = kept[-1][0] * n, step
        else:
            kept.append((n, step))
    return [n for n, _ in kept], [step for _, step in kept]


def sliced(
    storage: gn.Tensor, offset: int, sizes: Sequence[int], strides: Sequence[int]
) -> gn.Tensor | None:
    """A slice of each digit of the places, for strides that divide each other; None for others."""
    numel = storage.numel()
    if not strides:
        return storage[offset]
    grid = [numel // strides[0], *(a // b for a, b in pairwise(strides))]
    part, rest = [], offset
    for n, step, most in zip(sizes, strides, grid, strict=True):
        first, rest = divmod(rest, step)
        part.append(slice(first, first + n))
        if first + n > most:
            return None
    if any(a % b for a, b in pairwise(strides)):
        return None
    whole = storage[: grid[0] * strides[0]].reshape([*grid, strides[-1]])
    return whole[(*part, rest)]


def places(offset: int, size: tuple, stride: tuple) -> gn.Tensor:
    """The place of each element in its storage."""
    found = gn.asarray(offset)
    for n, step in zip(size, stride, strict=True):
        found = found[..., None] + gn.arange(n) * step
    return found
