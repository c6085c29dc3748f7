"""Reductions over axes: sums, means, extremes and their positions, variances, norms, counts.

Sums run in canonical order (gnomon/ops/canonical.py) and are rounded once. Maxima and minima that
also return indices find the index first and then fetch the value, so equal elements never share a
gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, accumulator, bool_, dtype_of, int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import (
    Axes,
    floating,
    floats_only,
    kept_sizes,
    many_axes,
    one_axis,
    result_of_sum,
)
from gnomon.ops.elementwise import maximum, minimum
from gnomon.ops.logic import truth
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import expand, flip, reduce, reshape, unsqueeze
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS, cumprod
from gnomon.ops.view_primitives import pad, permute, slice_


def fold(monoid: str, x: Node, axes: Sequence[int], keepdims: bool, dtype: DType | None = None):
    """Fold axes away, or to size 1 if `keepdims`."""
    folded = cast(reduce(monoid, x, tuple(axes), dtype), dtype or x.dtype)
    return reshape(folded, kept_sizes(x.shape, axes)) if keepdims else folded


def np_axis(axis: Axes) -> int | tuple[int, ...] | None:
    """An axis argument as numpy takes it."""
    return axis if axis is None or isinstance(axis, int) else tuple(axis)


@op(
    reference=lambda x, axis=None, keepdims=False: np.sum(x, np_axis(axis), keepdims=keepdims),
    autocast="wide",
    complex="parts",
    widens_unsigned=True,
    none_is_all=True,
)
def sum(x: Node, axis: Axes = None, keepdims: bool = False, *, dtype: object = None) -> Node:
    """The sum over axes; booleans and integers are summed in 64 bits.

    >>> sum(tensor([[1, 2], [3, 4]]), axis=0)
    Tensor([4, 6])
    """
    kind = result_of_sum(x, None if dtype is None else dtype_of(dtype))
    if kind.is_floating_point != x.dtype.is_floating_point or kind.bits > x.dtype.bits:
        x = cast(x, kind)
    return fold("add", x, many_axes("sum", axis, x.rank), keepdims, kind)


@op(
    reference=lambda x, axis=None, keepdims=False: np.mean(x, np_axis(axis), keepdims=keepdims),
    complex="parts",
    none_is_all=True,
)
def mean(x: Node, axis: Axes = None, keepdims: bool = False, *, dtype: object = None) -> Node:
    """The mean over axes.

    >>> mean(tensor([[1.0, 2.0], [3.0, 4.0]]), axis=0, keepdims=True)
    Tensor([[2., 3.]])
    >>> mean(tensor([1, 2]))
    Traceback (most recent call last):
    gnomon.errors.DtypeError: mean: needs floats: got int64. Use x.astype(float32).
    """
    x = x if dtype is None else cast(x, dtype_of(dtype))
    floats_only("mean", x)
    return cast(mean_of(x, many_axes("mean", axis, x.rank), keepdims), x.dtype)


def mean_of(x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
    """The mean over axes, in the accumulator's dtype."""
    count = math.prod(x.shape[k] for k in axes)
    total = fold("add", x, axes, keepdims, accumulator(x.dtype))
    return total / count if count else total * float("nan")


@op(
    reference=lambda x, axis=None, keepdims=False: np.nansum(x, np_axis(axis), keepdims=keepdims),
    none_is_all=True,
)
def nansum(x: Node, axis: Axes = None, keepdims: bool = False, *, dtype: object = None) -> Node:
    """The sum over axes, ignoring NaN.

    >>> nansum(tensor([1.0, nan, 2.0]))
    Tensor(3.)
    """
    return sum(where(elementwise("isnan", floating(x)), 0, x), axis, keepdims, dtype=dtype)


@op(
    reference=lambda x, axis=None, keepdims=False: np.nanmean(x, np_axis(axis), keepdims=keepdims),
    none_is_all=True,
)
def nanmean(x: Node, axis: Axes = None, keepdims: bool = False, *, dtype: object = None) -> Node:
    """The mean over axes, ignoring NaN.

    >>> nanmean(tensor([1.0, nan, 2.0]))
    Tensor(1.5)
    """
    x = x if dtype is None else cast(x, dtype_of(dtype))
    floats_only("nanmean", x)
    missing, axes = elementwise("isnan", x), many_axes("nanmean", axis, x.rank)
    total = fold("add", where(missing, 0.0, x), axes, keepdims, accumulator(x.dtype))
    count = fold("add", cast(elementwise("not", missing), int64), axes, keepdims)
    return cast(total / cast(count, total.dtype), x.dtype)


def prod_gradient(
    g: Node, y: Node, x: Node, axis: Axes = None, keepdims: bool = False, **_: Any
) -> Node:
    """The gradient of prod: products before and after each element, so that zeros are allowed."""
    axes = many_axes("prod", axis, x.rank)
    if not axes:
        return g
    order = (*(k for k in range(x.rank) if k not in axes), *axes)
    sizes = tuple(x.shape[k] for k in order)
    kept = sizes[: x.rank - len(axes)]
    flat = reshape(permute(x, order), (*kept, math.prod(x.shape[k] for k in axes)))
    others = before(flat) * flip(before(flip(flat, flat.rank - 1)), flat.rank - 1)
    spread = reshape(others * unsqueeze(reshape(g, kept), len(kept)), sizes)
    return cast(permute(spread, tuple(order.index(k) for k in range(x.rank))), x.dtype)


def before(x: Node) -> Node:
    """The product of all elements before each one, along the last axis."""
    none = (0,) * x.rank
    shifted = pad(x, (*none[:-1], 1), none, 1.0)
    kept = tuple((0, n, 1) for n in x.shape)
    return cumprod(slice_(shifted, kept), -1)


@op(
    reference=lambda x, axis=None, keepdims=False: np.prod(x, np_axis(axis), keepdims=keepdims),
    gradient=prod_gradient,
    autocast="wide",
    complex="formula",
    widens_unsigned=True,
)
def prod(x: Node, axis: Axes = None, keepdims: bool = False, *, dtype: object = None) -> Node:
    """The product over axes; booleans and integers are multiplied in 64 bits.

    >>> prod(tensor([[1, 2], [3, 4]]), axis=1)
    Tensor([ 2, 12])
    """
    kind = result_of_sum(x, None if dtype is None else dtype_of(dtype))
    return fold("mul", cast(x, kind), many_axes("prod", axis, x.rank), keepdims, kind)


def refuse_empty(name: str, x: Node, axes: tuple[int, ...]) -> None:
    """Raise an error if there are no elements to choose from along axes."""
    if 0 in [x.shape[k] for k in axes]:
        raise ShapeError(f"{name}: nothing to choose from: x {x.shape} is empty along {axes}.")


def extreme(name: str, x: Node, axis: Axes, keepdims: bool) -> Node:
    """The largest or smallest element over axes; raises if there is none."""
    axes = many_axes(name, axis, x.rank)
    refuse_empty(name, x, axes)
    if x.dtype is bool_:
        return fold("or" if name == "max" else "and", x, axes, keepdims)
    return fold(name, x, axes, keepdims)


def to_equals(g: Node, y: Node, x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The gradient of an extreme over axes, which equal elements share."""
    axes = many_axes("max", axis, x.rank)
    kept = kept_sizes(x.shape, axes)
    g, y = reshape(g, kept), reshape(y, kept)
    broken = elementwise("and", elementwise("isnan", x), elementwise("isnan", y))
    won = elementwise("or", elementwise("eq", x, y), broken)
    ties = fold("add", cast(won, x.dtype), axes, True)
    return where(won, expand(g / ties, x.shape), 0.0)


@op(
    reference=lambda x, axis=None, keepdims=False: np.max(x, np_axis(axis), keepdims=keepdims),
    gradient=to_equals,
    aliases=("amax",),
    of_two=maximum,
    none_is_all=True,
)
def max(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The maximum over axes; NaN if any is. Equal elements share the gradient.

    >>> max(tensor([3, 1, 2]))
    Tensor(3)
    >>> max(tensor([[3, 1], [0, 2]]), dim=1)
    Values(values=Tensor([3, 2]), indices=Tensor([0, 1]))
    >>> max(zeros(0))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: max: nothing to choose from: x (0,) is empty along (0,).
    """
    return extreme("max", x, axis, keepdims)


@op(
    reference=lambda x, axis=None, keepdims=False: np.min(x, np_axis(axis), keepdims=keepdims),
    gradient=to_equals,
    aliases=("amin",),
    of_two=minimum,
    none_is_all=True,
)
def min(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The minimum over axes; NaN if any is. Equal elements share the gradient.

    >>> min(tensor([3.0, nan, 2.0]))
    Tensor(nan)
    """
    return extreme("min", x, axis, keepdims)


@op(inline=True, reference=lambda x, axis=None, keepdims=False: (np.min(x, axis), np.max(x, axis)))
def aminmax(x: Node, axis: int | None = None, keepdims: bool = False) -> tuple[Node, Node]:
    """The minimum and the maximum over an axis; None means all elements.

    >>> aminmax(tensor([3, 1, 2]))
    (Tensor(1), Tensor(3))
    """
    return min(x, axis, keepdims), max(x, axis, keepdims)


@op(
    reference=lambda x, axis=None, keepdims=False: np.any(x, np_axis(axis), keepdims=keepdims),
    complex="truth",
)
def any(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """Whether any element over axes differs from 0.

    >>> any(tensor([[0, 1], [0, 0]]), axis=1)
    Tensor([ True, False])
    """
    return fold("or", truth(x), many_axes("any", axis, x.rank), keepdims)


@op(
    reference=lambda x, axis=None, keepdims=False: np.all(x, np_axis(axis), keepdims=keepdims),
    complex="truth",
)
def all(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """Whether all elements over axes differ from 0.

    >>> all(tensor([[1, 1], [0, 1]]), axis=1)
    Tensor([ True, False])
    """
    return fold("and", truth(x), many_axes("all", axis, x.rank), keepdims)


@op(
    reference=lambda x, axis=None, keepdims=False: np.asarray(np.count_nonzero(x, np_axis(axis))),
    complex="truth",
    none_is_all=True,
)
def count_nonzero(x: Node, axis: Axes = None, keepdims: bool = False) -> Node:
    """The number of nonzero elements over axes.

    >>> count_nonzero(tensor([0, 3, 0, 4]))
    Tensor(2)
    """
    return fold("add", cast(truth(x), int64), many_axes("any", axis, x.rank), keepdims)


# positions


@op(
    reference=lambda x, axis=None, keepdims=False: np.argmax(x, axis, keepdims=keepdims),
)
def argmax(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Index of the maximum, first of equal elements; NaN is largest. None: in flattened x.

    >>> argmax(tensor([[1, 5], [7, 2]]))
    Tensor(2)
    >>> argmax(tensor([[1, 5], [7, 2]]), axis=1)
    Tensor([1, 0])
    """
    return position("max", x, axis, keepdims)


@op(
    reference=lambda x, axis=None, keepdims=False: np.argmin(x, axis, keepdims=keepdims),
)
def argmin(x: Node, axis: int | None = None, keepdims: bool = False) -> Node:
    """Index of the minimum, first of equal elements; NaN is smallest. None: in flattened x.

    >>> argmin(tensor([4, 1, 1]))
    Tensor(1)
    """
    return position("min", x, axis, keepdims)


def position(name: str, x: Node, axis: int | None, keepdims: bool) -> Node:
    """The position of an extreme, the first of equal ones."""
    if axis is None:
        found = position(name, reshape(x, (x.size,)), 0, False)
        return reshape(found, (1,) * x.rank) if keepdims else found
    axis = one_axis(f"arg{name}", axis, x.rank)
    if not x.rank:
        return zero_of(x)
    refuse_empty(f"arg{name}", x, (axis,))
    x = cast(x, int64) if x.dtype is bool_ else x
    won = elementwise("eq", x, extreme(name, x, axis, True))
    if x.dtype.is_floating_point:
        won = elementwise("or", won, elementwise("isnan", x))
    here = where(won, along(x, axis), x.shape[axis])
    return fold("min", here, (axis,), keepdims)


def zero_of(x: Node) -> Node:
    """The position 0, for a tensor of rank 0."""
    return elementwise("mul", cast(truth(x), int64), 0)


def along(x: Node, axis: int, dtype: DType = int64) -> Node:
    """The integers 0, 1, 2, ... along one axis of x, with size 1 along the others."""
    count = x.arena.node("iota", (), size=x.shape[axis], dtype=dtype)
    return reshape(count, tuple(n if k == axis else 1 for k, n in enumerate(x.shape)))


def pick_gradient(g: Node, y: Node, x: Node, index: Node, axis: int):
    """The gradient of pick: g at the picked elements, by selection."""
    axis = one_axis("pick", axis, x.rank)
    here = elementwise("eq", along(x, axis, index.dtype), unsqueeze(index, axis))
    return where(here, expand(unsqueeze(g, axis), x.shape), 0.0), None


@op(
    reference=lambda x, index, axis: np.take_along_axis(
        x, np.expand_dims(index, axis), axis
    ).squeeze(axis),
    gradient=pick_gradient,
)
def pick(x: Node, index: Node, axis: int) -> Node:
    """One element of each row along an axis, by its index.

    Shapes: x (*a, n, *b), index (*a, *b) -> (*a, *b)

    >>> pick(tensor([[1, 2, 3], [4, 5, 6]]), tensor([2, 0]), 1)
    Tensor([3, 4])
    """
    axis = one_axis("pick", axis, x.rank)
    names = LETTERS[: x.rank]
    kept = names[:axis] + names[axis + 1 :]
    return gather(f"{names},{kept}->{kept}", x, index)


def extreme_with_positions(name: str, x: Node, axis: int, keepdims: bool) -> tuple[Node, Node]:
    """The extreme of every row, and its first position."""
    if not x.rank:
        return x, zero_of(x)
    found = position(name, x, axis, False)
    values = pick(x, found, axis)
    if not keepdims:
        return values, found
    axis = one_axis(name, axis, x.rank)
    return unsqueeze(values, axis), unsqueeze(found, axis)


@op(reference=lambda x, axis: (np.max(x, axis), np.argmax(x, axis)), pair_of=max)
def max_with_positions(x: Node, axis: int, keepdims: bool = False) -> tuple[Node, Node]:
    """The maximum along an axis and its first index; that element gets the gradient.

    >>> max_with_positions(tensor([[3, 7, 7]]), 1)
    (Tensor([7]), Tensor([1]))
    """
    return extreme_with_positions("max", x, axis, keepdims)


@op(reference=lambda x, axis: (np.min(x, axis), np.argmin(x, axis)), pair_of=min)
def min_with_positions(x: Node, axis: int, keepdims: bool = False) -> tuple[Node, Node]:
    """The minimum along an axis and its first index; that element gets the gradient.

    >>> min_with_positions(tensor([[3, 7, 1]]), 1)
    (Tensor([1]), Tensor([2]))
    """
    return extreme_with_positions("min", x, axis, keepdims)
