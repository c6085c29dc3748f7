"""Tensors from numbers: constants, ranges, grids.

A function without a tensor argument takes the arena to build in, and is a plain function; one that
takes its shape from a tensor is an operation. Random numbers are in random.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, dtype_of, dtype_of_number, float32, float64, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Arena, Node, Shape
from gnomon.ir.operators import SCALAR_TYPES, Scalar, cast, constant, elementwise
from gnomon.ops.arguments import choice, joint_shape, listed
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.registry import op
from gnomon.ops.scalars import where


def full(arena: Arena, shape: Sequence[int], value: object, dtype: object = None) -> Node:
    """A tensor of one number, in the number's own dtype if none is given."""
    kind = dtype_of_number(value) if dtype is None else dtype_of(dtype)
    if any(n < 0 for n in shape):
        raise ShapeError(f"full: sizes are not negative: got {tuple(shape)}.")
    if not isinstance(value, SCALAR_TYPES):
        raise ArgumentError(f"full: the value must be a number: got {value!r}.")
    return expand(constant(arena, value, kind, "full"), tuple(shape))


def zeros(arena: Arena, shape: Sequence[int], dtype: object = float32) -> Node:
    """A tensor of zeros."""
    return full(arena, shape, 0, dtype)


def ones(arena: Arena, shape: Sequence[int], dtype: object = float32) -> Node:
    """A tensor of ones."""
    return full(arena, shape, 1, dtype)


def count(arena: Arena, size: object, dtype: DType) -> Node:
    """The integers 0, 1, 2, ... below `size`."""
    if not isinstance(size, int) or size < 0:
        raise ArgumentError(f"arange: sizes are integers, not negative: got {size!r}.")
    return arena.node("iota", (), size=size, dtype=dtype)


def is_finite(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int) or (isinstance(value, SCALAR_TYPES) and math.isfinite(value))


def arange(
    arena: Arena,
    start: int | float,
    stop: int | float | None = None,
    step: int | float = 1,
    dtype: object = None,
) -> Node:
    """The numbers start, start + step, ... before stop; with one bound, they start at 0."""
    start, stop = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ArgumentError("arange: the step must not be 0.")
    if not all(map(is_finite, (start, stop, step))):
        raise ArgumentError(f"arange: bounds are finite numbers: got {start}, {stop} by {step}.")
    exact = all(isinstance(v, int) for v in (start, stop, step))
    kind = dtype_of(dtype) if dtype is not None else int64 if exact else float32
    size = max(-((start - stop) // step) if exact else math.ceil((stop - start) / step), 0)
    work = int64 if exact else float64
    places = count(arena, size, work)
    if step != 1:
        places = places * (step if exact else float(step))
    if start != 0:
        places = places + (start if exact else float(start))
    return cast(places, kind)


def linspace(
    arena: Arena,
    start: float,
    stop: float,
    num: int,
    dtype: object = float32,
    *,
    endpoint: bool = True,
) -> Node:
    """The `num` numbers at equal distances from start to stop, computed from the nearer end."""
    gaps = num - 1 if endpoint else num
    step = (stop - start) / gaps if gaps > 0 else 0.0
    places = count(arena, num, float64)
    from_start = places * float(step) + float(start)
    from_stop = float(stop) - (float(gaps) - places) * float(step)
    return cast(where(elementwise("lt", places, num / 2), from_start, from_stop), dtype_of(dtype))


def eye(
    arena: Arena, rows: int, columns: int | None = None, *, k: int = 0, dtype: object = float32
) -> Node:
    """A matrix with 1 on the k-th diagonal and 0 elsewhere."""
    columns = rows if columns is None else columns
    down = reshape(count(arena, rows, int64), (rows, 1))
    across = reshape(count(arena, columns, int64), (1, columns))
    return cast(elementwise("eq", down + k if k else down, across), dtype_of(dtype))


# like another tensor


def like(x: Node, value: Scalar, dtype: object, shape: Shape) -> Node:
    """A tensor of one number in the arena of x, and in its dtype if none is given."""
    return full(x.arena, shape, value, x.dtype if dtype is None else dtype)


@op(inline=True, reference=lambda x, value: np.full_like(x, value))
def full_like(x: Node, fill_value: Scalar, *, dtype: object = None) -> Node:
    """A tensor of one value, with the shape and dtype of x.

    Shapes: x (...) -> (...)

    >>> full_like(tensor([1, 2]), 7)
    Tensor([7, 7])
    """
    return like(x, fill_value, dtype, x.shape)


@op(inline=True, reference=np.zeros_like, aliases=("empty_like",))
def zeros_like(x: Node, *, dtype: object = None) -> Node:
    """Zeros with the shape and dtype of x.

    Shapes: x (...) -> (...)

    >>> zeros_like(tensor([[1.5, 2.5]]))
    Tensor([[0., 0.]])
    """
    return like(x, 0, dtype, x.shape)


@op(inline=True, reference=np.ones_like)
def ones_like(x: Node, *, dtype: object = None) -> Node:
    """Ones with the shape and dtype of x.

    Shapes: x (...) -> (...)

    >>> ones_like(tensor([3, 4]))
    Tensor([1, 1])
    """
    return like(x, 1, dtype, x.shape)


def np_meshgrid(*xs: np.ndarray, indexing: Any = "xy") -> tuple[np.ndarray, ...]:
    """Compute meshgrid with numpy."""
    return tuple(np.meshgrid(*xs, indexing=indexing))


@op(inline=True, reference=np_meshgrid, views=True, complex="parts")
def meshgrid(*xs: Node | Sequence[Node], indexing: str = "xy") -> tuple[Node, ...]:
    """Coordinates of a grid: each vector repeated along the axes of the others.

    Shapes: xs (n_k) -> (*n_k) if indexing == "ij" else (*p); sorted(p) == sorted(n_k)

    >>> meshgrid(tensor([1, 2]), tensor([3, 4]), indexing="ij")[0]
    Tensor([[1, 1],
            [2, 2]])
    >>> meshgrid(ones(2, 3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: meshgrid: each of xs has one axis at most: got (2, 3).
    """
    given = listed("meshgrid", xs)
    choice("meshgrid", "indexing", indexing, ("xy", "ij"))
    for x in given:
        if x.rank > 1:
            raise ShapeError(f"meshgrid: each of xs has one axis at most: got {x.shape}.")
    vectors = [reshape(x, (x.size,)) for x in given]
    order = list(range(len(given)))
    if indexing == "xy" and len(given) > 1:
        order[:2] = [1, 0]
    places = [order.index(k) for k in range(len(given))]
    shape = tuple(vectors[k].size for k in order)
    vectors = [
        reshape(x, tuple(x.size if axis == place else 1 for axis in range(len(given))))
        for x, place in zip(vectors, places, strict=True)
    ]
    return tuple(expand(x, shape) for x in vectors)


def np_broadcast(*xs: np.ndarray) -> tuple[np.ndarray, ...]:
    """Compute broadcast_tensors with numpy."""
    return tuple(np.broadcast_arrays(*xs))


@op(
    inline=True,
    reference=np_broadcast,
    aliases=("broadcast_arrays",),
    views=True,
    complex="formula",
)
def broadcast_tensors(*xs: Node) -> tuple[Node, ...]:
    """Broadcast all tensors to their common shape.

    Shapes: xs (...) -> (...)

    >>> [x.shape for x in broadcast_tensors(ones(3, 1), ones(4))]
    [Size([3, 4]), Size([3, 4])]
    >>> broadcast_tensors(ones(3), ())
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: broadcast_tensors: expected tensors: got tuple.
    """
    strange = [type(x).__name__ for x in xs if not hasattr(x, "shape")]
    if strange:
        raise ArgumentError(f"broadcast_tensors: expected tensors: got {strange[0]}.")
    shape = joint_shape("broadcast_tensors", [x.shape for x in xs])
    return tuple(expand(x, shape) for x in xs)
