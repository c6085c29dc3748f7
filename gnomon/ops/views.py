"""The same elements elsewhere: other axes, other order, parts, repetitions.

All are made of view primitives, which dissolve into index arithmetic. Joining is in joining.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node, Shape
from gnomon.ops import primitives, view_primitives
from gnomon.ops.arguments import Axes, completed, many_axes, one_axis, sizes
from gnomon.ops.registry import op


def part(x: Node, axis: int, start: int, stop: int, step: int = 1) -> Node:
    """x[start:stop:step] along one axis."""
    whole = [(0, n, 1) for n in x.shape]
    return view_primitives.slice_(x, (*whole[:axis], (start, stop, step), *whole[axis + 1 :]))


def np_sizes(shape: Any, more: Any):
    """A shape for numpy."""
    return sizes(shape, more)


@op(
    inline=True,
    reference=lambda x, shape, *more: x.reshape(np_sizes(shape, more)),
    aliases=("view",),
)
def reshape(x: Node, shape: int | Sequence[int], *more: int) -> Node:
    """The same elements over other axes; one size may be -1.

    Shapes: x (...) -> (?)

    >>> reshape(tensor([1, 2, 3, 4]), (2, -1))
    Tensor([[1, 2],
            [3, 4]])
    """
    return primitives.reshape(x, completed("reshape", sizes(shape, more), x.size))


@op(inline=True, reference=lambda x, y: x.reshape(y.shape), aliases=("view_as",))
def reshape_as(x: Node, y: Node) -> Node:
    """x in the shape of y.

    Shapes: x (...), y (?) -> (?)
    """
    return reshape(x, y.shape)


@op(
    inline=True,
    reference=lambda x, axes, *more: np.transpose(x, np_sizes(axes, more)),
    aliases=("permute_dims",),
)
def permute(x: Node, axes: int | Sequence[int], *more: int) -> Node:
    """The axes in another order.

    Shapes: x (...) -> (?)
    """
    order = tuple(one_axis("permute", k, x.rank) for k in sizes(axes, more))
    if sorted(order) != list(range(x.rank)):
        raise ShapeError(f"permute: needs each of the {x.rank} axes once: got {order}.")
    return view_primitives.permute(x, order)


@op(inline=True, reference=np.swapaxes, aliases=("swapaxes", "swapdims"))
def transpose(x: Node, dim0: int, dim1: int) -> Node:
    """Two axes exchanged.

    Shapes: x (...) -> (?)
    """
    order = list(range(x.rank))
    a, b = (one_axis("transpose", k, x.rank) for k in (dim0, dim1))
    if x.rank:
        order[a], order[b] = order[b], order[a]
    return view_primitives.permute(x, tuple(order))


@op(inline=True, reference=lambda x: np.swapaxes(x, -1, -2), aliases=("adjoint",))
def matrix_transpose(x: Node) -> Node:
    """The last two axes exchanged.

    Shapes: x (..., n, m) -> (..., m, n)
    """
    if x.rank < 2:
        raise ShapeError(f"matrix_transpose: needs two axes: got {x.shape}.")
    return transpose(x, -1, -2)


@op(inline=True, reference=np.transpose)
def t(x: Node) -> Node:
    """A matrix transposed; a vector stays.

    Shapes: x (...) -> (?)
    """
    if x.rank > 2:
        raise ShapeError(f"t: at most two axes: got {x.shape}. Use x.mT.")
    return transpose(x, 0, 1) if x.rank == 2 else x


@op(inline=True, reference=lambda x, a, b: np.moveaxis(x, a, b), aliases=("moveaxis",))
def movedim(x: Node, source: Axes, destination: Axes) -> Node:
    """Axes put elsewhere, the others in their order.

    Shapes: x (...) -> (?)
    """
    old, new = (
        [one_axis("movedim", k, x.rank) for k in ([v] if isinstance(v, int) else v)]
        for v in (source, destination)
    )
    if len(old) != len(new):
        raise ArgumentError(f"movedim: {len(old)} axes to {len(new)} places.")
    order: list[int | None] = [None] * x.rank
    for a, b in zip(old, new, strict=True):
        order[b] = a
    rest = iter(k for k in range(x.rank) if k not in old)
    return view_primitives.permute(x, tuple(next(rest) if k is None else k for k in order))


@op(inline=True, reference=lambda x, axis=None: np.squeeze(x, axis))
def squeeze(x: Node, axis: Axes = None) -> Node:
    """Without its axes of size 1, or without those named that have it.

    Shapes: x (...) -> (?)
    """
    gone = [k for k in many_axes("squeeze", axis, x.rank) if x.shape[k] == 1]
    return primitives.reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in gone))


@op(inline=True, reference=np.expand_dims, aliases=("expand_dims",))
def unsqueeze(x: Node, axis: int = 0) -> Node:
    """An axis of size 1 more, at this place in the result.

    Shapes: x (...) -> (?)
    """
    return primitives.unsqueeze(x, one_axis("unsqueeze", axis, x.rank + 1))


@op(inline=True, reference=lambda x: x.reshape(-1), aliases=("ravel",))
def flatten(x: Node, start_dim: int = 0, end_dim: int = -1) -> Node:
    """A run of axes as one.

    Shapes: x (...) -> (?)
    """
    if not x.rank:
        return primitives.reshape(x, (1,))
    first, last = (one_axis("flatten", k, x.rank) for k in (start_dim, end_dim))
    if first > last:
        raise ArgumentError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}.")
    middle = 1
    for n in x.shape[first : last + 1]:
        middle *= n
    return primitives.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


@op(
    inline=True,
    reference=lambda x, axis, shape: x.reshape(x.shape[:axis] + shape + x.shape[axis + 1 :]),
)
def unflatten(x: Node, axis: int, shape: Sequence[int]) -> Node:
    """One axis as several; one size may be -1.

    Shapes: x (...) -> (?)
    """
    axis = one_axis("unflatten", axis, x.rank)
    split = completed("unflatten", tuple(shape), x.shape[axis])
    return primitives.reshape(x, (*x.shape[:axis], *split, *x.shape[axis + 1 :]))


# growing


def grown(name: str, x: Node, shape: Shape) -> Shape:
    """A shape to expand to, in which -1 keeps a size."""
    if len(shape) < x.rank:
        raise ShapeError(f"{name}: {x.shape} has more axes than {shape}.")
    own = (*(1,) * (len(shape) - x.rank), *x.shape)
    wanted = tuple(m if n == -1 else n for n, m in zip(shape, own, strict=True))
    if any(m not in (1, n) for n, m in zip(wanted, own, strict=True)):
        raise ShapeError(f"{name}: only axes of size 1 can grow: {x.shape} to {shape}.")
    return wanted


@op(
    inline=True,
    reference=lambda x, shape, *more: np.broadcast_to(x, np_sizes(shape, more)),
    aliases=("broadcast_to",),
)
def expand(x: Node, shape: int | Sequence[int], *more: int) -> Node:
    """x repeated along axes of size 1, and along new ones in front; -1 keeps a size.

    Shapes: x (...) -> (?)
    """
    return primitives.expand(x, grown("expand", x, sizes(shape, more)))


@op(inline=True, reference=lambda x, y: np.broadcast_to(x, y.shape))
def expand_as(x: Node, y: Node) -> Node:
    """x in the shape of y, repeated along axes of size 1.

    Shapes: x (?), y (...) -> (...)
    """
    return primitives.expand(x, grown("expand_as", x, y.shape))


@op(inline=True, reference=lambda x, reps, *more: np.tile(x, np_sizes(reps, more)))
def tile(x: Node, repetitions: int | Sequence[int], *more: int) -> Node:
    """Copies of x side by side, so many along each axis.

    Shapes: x (...) -> (?)
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


@op(
    inline=True,
    reference=lambda x, repeats, axis=None: np.repeat(x, repeats, axis),
    aliases=("repeat_interleave",),
)
def repeat(x: Node, repeats: int, axis: int | None = None) -> Node:
    """Each element so many times in a row; without an axis, of x laid flat.

    Shapes: x (...) -> (?)
    """
    if axis is None:
        return repeat(primitives.reshape(x, (x.size,)), repeats, 0)
    axis = one_axis("repeat", axis, x.rank)
    lone = primitives.unsqueeze(x, axis + 1)
    copied = primitives.expand(lone, (*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]))
    count = x.shape[axis] * repeats
    return primitives.reshape(copied, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


# parts


@op(inline=True, reference=lambda x, axis, start, n: np.take(x, range(start, start + n), axis))
def narrow(x: Node, axis: int, start: int, length: int) -> Node:
    """A stretch of one axis.

    Shapes: x (...) -> (?)
    """
    axis = one_axis("narrow", axis, x.rank)
    start = start + x.shape[axis] if start < 0 else start
    if start < 0 or length < 0 or start + length > x.shape[axis]:
        raise ShapeError(
            f"narrow: {length} elements from {start} do not lie in axis {axis} of {x.shape}."
        )
    return part(x, axis, start, start + length)


@op(inline=True, reference=lambda x, axis, index: np.take(x, index, axis))
def select(x: Node, axis: int, index: int) -> Node:
    """One position of an axis, which goes.

    Shapes: x (...) -> (?)
    """
    axis = one_axis("select", axis, x.rank)
    taken = narrow(x, axis, index, 1)
    return primitives.reshape(taken, (*x.shape[:axis], *x.shape[axis + 1 :]))


def np_split(x: np.ndarray, sections: Any, axis: int = 0):
    """Parts of a size, or of sizes, by numpy."""
    if isinstance(sections, int):
        cuts = range(sections, x.shape[axis], sections)
    else:
        cuts = np.cumsum(sections)[:-1]
    return tuple(np.split(x, cuts, axis))


@op(inline=True, reference=np_split)
def split(x: Node, split_size: int | Sequence[int], axis: int = 0) -> tuple[Node, ...]:
    """Parts of one size (the last may be smaller), or of the sizes given.

    Shapes: x (...) -> (?)
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


@op(
    inline=True,
    reference=lambda x, chunks, axis=0: np_split(x, -(-x.shape[axis] // chunks), axis),
)
def chunk(x: Node, chunks: int, axis: int = 0) -> tuple[Node, ...]:
    """At most so many parts, all equal but perhaps the last.

    Shapes: x (...) -> (?)
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: needs at least one part: got {chunks}.")
    size = x.shape[one_axis("chunk", axis, x.rank)]
    return split(x, max(-(-size // chunks), 1), axis)


@op(
    inline=True,
    reference=lambda x, axis=0: tuple(np.moveaxis(x, axis, 0)),
    aliases=("unstack",),
)
def unbind(x: Node, axis: int = 0) -> tuple[Node, ...]:
    """Every position of an axis, which goes.

    Shapes: x (...) -> (?)
    """
    axis = one_axis("unbind", axis, x.rank)
    return tuple(select(x, axis, k) for k in range(x.shape[axis]))


@op(inline=True, reference=lambda x, axis=None: np.flip(x, axis))
def flip(x: Node, axis: Axes = None) -> Node:
    """Backwards along axes.

    Shapes: x (...) -> (...)
    """
    turned = many_axes("flip", axis, x.rank)
    bounds = tuple((n - 1, -1, -1) if k in turned else (0, n, 1) for k, n in enumerate(x.shape))
    return view_primitives.slice_(x, bounds)


@op(inline=True, reference=np.flipud)
def flipud(x: Node) -> Node:
    """Backwards along the first axis.

    Shapes: x (...) -> (...)
    """
    return flip(x, 0)


@op(inline=True, reference=np.fliplr)
def fliplr(x: Node) -> Node:
    """Backwards along the second axis.

    Shapes: x (...) -> (...)
    """
    return flip(x, 1)


@op(inline=True, reference=lambda x, axis, size, step: np_windows(x, axis, size, step))
def unfold(x: Node, axis: int, size: int, step: int) -> Node:
    """Overlapping stretches of an axis, along a new last one.

    Shapes: x (...) -> (?)
    """
    return view_primitives.window(x, one_axis("unfold", axis, x.rank), size, step)


def np_windows(x: np.ndarray, axis: int, size: Any, step: Any):
    """Overlapping stretches by numpy."""
    views = np.lib.stride_tricks.sliding_window_view(x, size, axis)
    return np.take(views, range(0, views.shape[axis], step), axis)


@op(inline=True, reference=lambda x, k=1, axes=(0, 1): np.rot90(x, k, axes))
def rot90(x: Node, k: int = 1, axes: Sequence[int] = (0, 1)) -> Node:
    """Turned by k quarters from the first axis towards the second.

    Shapes: x (...) -> (?)
    """
    first, second = axes
    if k % 4 == 0:
        return x
    if k % 4 == 2:
        return flip(x, (first, second))
    return transpose(flip(x, second if k % 4 == 1 else first), first, second)
