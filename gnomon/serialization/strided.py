"""Tensors of offset, size and strides in a file, as views of a storage."""

from __future__ import annotations

from math import prod

import gnomon as gn
from gnomon.errors import brief
from gnomon.ops.strides import merged

__all__ = ["is_whole", "strided"]

LARGEST_REPEAT = 1 << 22
"""The maximum elements of a tensor that repeats those of a smaller storage."""


def strided(storage: gn.Tensor, offset: int, size: tuple, stride: tuple) -> gn.Tensor:
    """A view of a flat storage, as torch.as_strided."""
    refuse_outside_storage(storage.numel(), offset, size, stride)
    return gn.as_strided(storage, size, stride, offset)


def is_whole(numel: int, offset: int, size: tuple, stride: tuple) -> bool:
    """Whether a tensor has all elements of a storage, in order."""
    refuse_outside_storage(numel, offset, size, stride)
    axes = [(n, step) for n, step in zip(size, stride, strict=True) if n != 1]
    found = merged([n for n, _ in axes], [step for _, step in axes])
    return prod(size) == numel and offset == 0 and found in (([numel], [1]), ([], []))


def refuse_outside_storage(numel: int, offset: int, size: tuple, stride: tuple) -> None:
    """Raise ValueError if sizes and strides reach outside of a storage of `numel` elements."""
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
