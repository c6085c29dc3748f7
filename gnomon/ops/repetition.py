"""Repetition of elements: whole tensors side by side, or each element several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.ir.node import Node, Shape
from gnomon.ops import primitives
from gnomon.ops.arguments import one_axis, sizes
from gnomon.ops.indexing import take
from gnomon.ops.registry import Op, op


def np_tile(x: np.ndarray, repetitions: int | Sequence[int], *more: int) -> np.ndarray:
    """Compute tile with numpy."""
    return np.tile(x, sizes(repetitions, more))


@op(
    inline=True,
    reference=np_tile,
    methods=("repeat",),
    complex="parts",
    spelled="repeats=repetitions",
)
def tile(x: Node, repetitions: int | Sequence[int], *more: int) -> Node:
    """Tile copies of x along each axis.

    Shapes: x (*s) -> (*p); prod(p) == prod(s) * prod(repetitions)

    >>> tile(tensor([1, 2]), (2, 2))
    Tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = sizes(repetitions, more)
    rank = max(len(times), x.rank)
    own = (1,) * (rank - x.rank) + x.shape
    times = (1,) * (rank - len(times)) + times
    paired = primitives.reshape(x, tuple(v for n in own for v in (1, n)))
    copied = primitives.expand(
        paired, tuple(v for n, r in zip(own, times, strict=True) for v in (r, n))
    )
    return primitives.reshape(copied, tuple(n * r for n, r in zip(own, times, strict=True)))


def each_its_own(
    places: Callable[[Any, int], Any],
    x: Any,
    repeats: Any = ...,
    axis: int | None = None,
) -> tuple[Op, tuple[Any, ...]] | None:
    """The lookup that repeats each element a number of times of its own; None for one number.

    places: computes the indices from the repeats and the length. If repeats are the only argument,
    as in PyTorch, the indices themselves are repeated.
    """
    shape: Shape = x.shape
    if repeats is ...:
        x, repeats = np.arange(prod(shape)), x
    if isinstance(repeats, Sequence):
        repeats = np.asarray(cast(Sequence[int], repeats))
    if not hasattr(repeats, "shape"):
        return None
    axis = None if axis is None else one_axis("repeat_interleave", axis, len(shape))
    return take, (x, places(repeats, prod(shape) if axis is None else shape[axis]), axis)


def repeated_places(
    fits: Callable[[str, int, int], None], times: np.ndarray, count: int
) -> np.ndarray:
    """The positions of elements, each repeated its number of times."""
    return np.repeat(np.arange(count), checked_times(fits, times, count))


def checked_times(fits: Callable[[str, int, int], None], times: Any, count: int) -> np.ndarray:
    """The number of repetitions of each element; raises if they are not valid."""
    if times.ndim > 1:
        raise ArgumentError(f"repeat_interleave: repeats have one axis: got {times.shape}.")
    if times.dtype.kind not in "iu" or times.size not in (1, count):
        raise ArgumentError(
            f"repeat_interleave: repeats are integers, one or {count}: got {times.size} of "
            f"{times.dtype}."
        )
    if times.min(initial=0) < 0:
        raise ArgumentError("repeat_interleave: repeats are not negative.")
    total = sum(times.reshape(-1).tolist()) * (count if times.size == 1 else 1)
    fits("repeat_interleave", total, 8)
    return np.broadcast_to(times.reshape(-1), (count,))


@op(
    inline=True,
    reference=lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    aliases=("repeat_interleave",),
    read=("repeats",),
    meant=each_its_own,
    hints=("output_size",),
    complex="parts",
)
def repeat(x: Node, repeats: int, axis: int | None = None) -> Node:
    """Repeat each element along an axis; None repeats those of flattened x.

    Shapes: x (*a, n, *b) -> (*a, n * repeats, *b) if axis is not None; x (*s) -> (prod(s) *
    repeats) if axis is None

    >>> repeat(tensor([1, 2]), 2)
    Tensor([1, 1, 2, 2])
    """
    if axis is None:
        return repeat(primitives.reshape(x, (x.size,)), repeats, 0)
    axis = one_axis("repeat", axis, x.rank)
    lone = primitives.unsqueeze(x, axis + 1)
    copied = primitives.expand(lone, (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]))
    count = x.shape[axis] * repeats
    return primitives.reshape(copied, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
