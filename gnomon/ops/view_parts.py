"""Parts of a tensor along its axes, and its elements in another order.

All are made of view primitives, which become index arithmetic. Other views are in views.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ops import primitives, view_primitives
from gnomon.ops.arguments import Axes, many_axes, one_axis, sizes
from gnomon.ops.registry import op, view
from gnomon.ops.views import reshape, transpose


def part(x: Node, axis: int, start: int, stop: int, step: int = 1) -> Node:
    """The slice x[start:stop:step] along one axis."""
    whole = [(0, n, 1) for n in x.shape]
    return view_primitives.slice_(x, (*whole[:axis], (start, stop, step), *whole[axis + 1 :]))


@view(
    reference=lambda x, axis, start, n: np.take(x, range(start, start + n), axis),
    read=("start", "length"),
)
def narrow(x: Node, axis: int, start: int, length: int) -> Node:
    """A slice of given length along an axis.

    Shapes: x (*a, n, *b) -> (*a, length, *b)

    >>> narrow(arange(6), 0, 2, 3)
    Tensor([2, 3, 4])
    >>> narrow(arange(6), 0, 4, 3)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: narrow: 3 elements from 4 do not lie in axis 0 of (6,).
    """
    axis = one_axis("narrow", axis, x.rank)
    start = start + x.shape[axis] if start < 0 else start
    # NaN is in no order with a size
    if start < 0 or length < 0 or not start + length <= x.shape[axis]:
        raise ShapeError(
            f"narrow: {length} elements from {start} do not lie in axis {axis} of {x.shape}."
        )
    return part(x, axis, start, start + length)


@view(reference=lambda x, axis, index: np.take(x, index, axis))
def select(x: Node, axis: int, index: int) -> Node:
    """The slice at an index of an axis, without that axis.

    Shapes: x (*a, n, *b) -> (*a, *b)

    >>> select(tensor([[1, 2], [3, 4]]), 1, -1)
    Tensor([2, 4])
    """
    axis = one_axis("select", axis, x.rank)
    taken = narrow(x, axis, index, 1)
    return primitives.reshape(taken, (*x.shape[:axis], *x.shape[axis + 1 :]))


def np_split(x: np.ndarray, sections: Any, axis: int = 0):
    """Compute parts of one size, or of several sizes, with numpy."""
    if isinstance(sections, int):
        cuts = range(sections, x.shape[axis], sections)
    else:
        cuts = np.cumsum(sections)[:-1]
    return tuple(np.split(x, cuts, axis))


@view(
    reference=np_split,
    aliases=("unsafe_split",),
    spelled="split_size_or_sections=split_size split_sizes=split_size",
)
def split(x: Node, split_size: int | Sequence[int], axis: int = 0) -> tuple[Node, ...]:
    """Split an axis into parts of one size (the last may be smaller), or of given sizes.

    Shapes: x (*a, sum(n_k), *b) -> (*a, n_k, *b)

    >>> split(arange(5), 2)
    (Tensor([0, 1]), Tensor([2, 3]), Tensor([4]))
    >>> split(arange(5), (2, 2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: split: parts (2, 2) do not add up to axis 0 of (5,).
    """
    axis = one_axis("split", axis, x.rank)
    total = x.shape[axis]
    if isinstance(split_size, int):
        if split_size < 1:
            raise ArgumentError(f"split: parts have at least one element: got {split_size}.")
        lengths = [min(split_size, total - at) for at in range(0, total, split_size)] or [0]
    else:
        lengths = list(split_size)
    if sum(lengths) != total:
        raise ShapeError(
            f"split: parts {tuple(lengths)} do not add up to axis {axis} of {x.shape}."
        )
    starts = [sum(lengths[:k]) for k in range(len(lengths))]
    return tuple(part(x, axis, at, at + n) for at, n in zip(starts, lengths, strict=True))


@view(
    reference=lambda x, chunks, axis=0: np_split(x, -(-x.shape[axis] // chunks), axis),
    aliases=("unsafe_chunk",),
)
def chunk(x: Node, chunks: int, axis: int = 0) -> tuple[Node, ...]:
    """Split an axis into at most `chunks` parts of one size; the last may be smaller.

    Shapes: x (*a, sum(n_k), *b) -> (*a, n_k, *b)

    >>> [len(part) for part in chunk(arange(7), 3)]
    [3, 3, 1]
    >>> chunk(arange(7), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: chunk: needs at least one part: got 0.
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: needs at least one part: got {chunks}.")
    size = x.shape[one_axis("chunk", axis, x.rank)]
    if not size:
        return (x,) * chunks
    return split(x, max(-(-size // chunks), 1), axis)


@view(reference=lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)), aliases=("unstack",))
def unbind(x: Node, axis: int = 0) -> tuple[Node, ...]:
    """The slices at all indices of an axis, without that axis.

    Shapes: x (*a, n, *b) -> (*a, *b)

    >>> unbind(tensor([[1, 2], [3, 4]]))
    (Tensor([1, 2]), Tensor([3, 4]))
    """
    axis = one_axis("unbind", axis, x.rank)
    return tuple(select(x, axis, k) for k in range(x.shape[axis]))


def np_flip(x: np.ndarray, axis: Axes = None, *more: int) -> np.ndarray:
    """Compute flip with numpy."""
    return np.flip(x, axis if axis is None else sizes(axis, more))


@op(inline=True, reference=np_flip, complex="parts", bare="missing the axes, PyTorch's dims")
def flip(x: Node, axis: Axes = None, *more: int) -> Node:
    """Reverse the order of elements along axes.

    Shapes: x (...) -> (...)

    >>> flip(tensor([[1, 2], [3, 4]]), 1)
    Tensor([[2, 1],
            [4, 3]])
    """
    turned = many_axes("flip", axis if axis is None else sizes(axis, more), x.rank)
    bounds = tuple((n - 1, -1, -1) if k in turned else (0, n, 1) for k, n in enumerate(x.shape))
    return view_primitives.slice_(x, bounds)


@view(
    reference=lambda x, axis, size, step: np_windows(x, axis, size, step),
    spelled="dimension=axis",
)
def unfold(x: Node, axis: int, size: int, step: int) -> Node:
    """Overlapping windows along an axis, with their elements as a new last axis.

    Shapes: x (*a, n, *b) -> (*a, (n - size) // step + 1, *b, size)

    >>> unfold(arange(5), 0, 3, 2)
    Tensor([[0, 1, 2],
            [2, 3, 4]])
    >>> unfold(arange(5), 0, 6, 1)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: unfold: 6 elements do not fit into axis 0 of (5,).
    """
    if not x.rank:
        return reshape(unfold(reshape(x, (1,)), axis, size, step), (size,))
    axis = one_axis("unfold", axis, x.rank)
    if size > x.shape[axis]:
        raise ShapeError(f"unfold: {size} elements do not fit into axis {axis} of {x.shape}.")
    if step >= 1 << 63:
        raise ArgumentError(f"unfold: step is below 2 ** 63: got {step}.")
    return view_primitives.window(x, axis, size, step)


def np_windows(x: np.ndarray, axis: int, size: Any, step: Any):
    """Compute overlapping windows of an axis with numpy."""
    views = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return np.take(views, range(0, views.shape[axis], step), axis)


@op(inline=True, reference=lambda x, k=1, axes=(0, 1): np.rot90(x, k, axes), complex="parts")
def rot90(x: Node, k: int = 1, axes: Sequence[int] = (0, 1)) -> Node:
    """Rotate by k quarter turns, from the first of two axes towards the second.

    Shapes: x (*s) -> (*p); sorted(p) == sorted(s)

    >>> rot90(tensor([[1, 2], [3, 4]]))
    Tensor([[2, 4],
            [1, 3]])
    """
    first, second = axes
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(x, (first, second))
    return transpose(flip(x, second if k % 4 == 1 else first), first, second)
