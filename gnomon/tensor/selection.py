"""Functions whose result's shape depends on values: they are evaluated where they are called.

Inside gn.compile they raise TraceError, as every look at a value does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import bool_, dtype_of, float32, int64
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.lazy import host_calls
from gnomon.ops.histories import unmoved
from gnomon.ops.registry import OPS, explained
from gnomon.runtime.buffer import check_size
from gnomon.tensor.device import check_device
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.masks import positions
from gnomon.tensor.placing import with_placing
from gnomon.tensor.state import whole
from gnomon.tensor.tensor import Tensor, array_of, from_array, method, raw


@method
@explained
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of nonzero elements: one row each, or one tensor per axis."""
    if as_tuple:
        return tuple(positions(input))
    return host_calls.done_on_host(position_rows, [(None, input.ndim)], input)[0]


def position_rows(array: np.ndarray) -> list[np.ndarray]:
    """The positions of nonzero elements, one row each."""
    found = np.nonzero(np.atleast_1d(array))
    return [np.stack(found, axis=1).astype(np.int64)[:, : array.ndim]]


def argwhere(input: Tensor) -> Tensor:
    """The positions of what is not zero, one row each.

    >>> import gnomon as gn
    >>> gn.argwhere(gn.tensor([[0, 1], [1, 0]]))
    Tensor([[0, 1],
            [1, 0]])
    """
    return nonzero(input)


Tensor.argwhere = argwhere


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """The elements of input where the condition holds, else of other; alone, the true positions."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return apply(OPS["where"], (condition, input, other))


Tensor.where = lambda self, condition, other: where(condition, self, other)


@method
@explained
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, in one axis.

    >>> import gnomon as gn
    >>> gn.masked_select(gn.tensor([1, 2, 3]), gn.tensor([True, False, True]))
    Tensor([1, 3])
    """
    if mask.dtype is not bool_:
        raise DtypeError(
            f"masked_select: the mask must be bool: got {mask.dtype.name}. Use mask != 0."
        )
    x, mask = FUNCTIONS["broadcast_tensors"](input, mask)
    return x.reshape(-1)[mask.reshape(-1)]


@method
@explained
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The number of times that each number occurs.

    >>> import gnomon as gn
    >>> gn.bincount(gn.tensor([1, 1, 3]))
    Tensor([0, 2, 0, 1])
    """
    if input.ndim != 1 or not input.dtype.is_integer:
        raise ShapeError(
            f"bincount: needs a vector of integers: got {tuple(input.shape)} of {input.dtype.name}."
        )
    if weights is None:
        return host_calls.done_on_host(counts_of, [(None,)], input, minlength)[0]
    if tuple(weights.shape) != tuple(input.shape):
        raise ShapeError(
            f"bincount: weights must be {tuple(input.shape)}: got {tuple(weights.shape)}."
        )
    numbers = checked_numbers(array_of(input), minlength)
    found = np.bincount(numbers, array_of(weights), minlength)
    return from_array(found.astype(np.float32) if weights.dtype is float32 else found)


def counts_of(numbers: np.ndarray, minlength: int) -> list[np.ndarray]:
    """The number of occurrences of each number."""
    return [np.bincount(checked_numbers(numbers, minlength), None, minlength)]


def checked_numbers(numbers: np.ndarray, minlength: int) -> np.ndarray:
    """Non-negative integers, checked for counting."""
    if minlength < 0 or numbers.min(initial=0) < 0:
        raise ArgumentError("bincount: neither numbers nor minlength may be negative.")
    length = max(int(numbers.max()) + 1 if numbers.size else 0, minlength)
    check_size("bincount", length, 8)
    return numbers.astype(np.int64)


@method
@explained
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, in order; and where each one went, and how often it occurs.

    >>> import gnomon as gn
    >>> gn.unique(gn.tensor([3, 1, 3]))
    Tensor([1, 3])
    """
    return distinct_by(distinct, input, dim, return_inverse, return_counts)


def distinct_by(
    find: Callable, x: Tensor, dim: int | None, return_inverse: bool, return_counts: bool
) -> Any:
    """The distinct elements or slices found by a function, with inverse and counts if requested."""
    shape = raw(x).shape
    if dim is None:
        shapes, elsewhere = [(None,)], shape
    else:
        shapes, elsewhere = [(*shape[:dim], None, *shape[dim:][1:])], (shape[dim],)
    shapes += [elsewhere] * bool(return_inverse) + [(None,)] * bool(return_counts)
    options = dim, bool(return_inverse), bool(return_counts)
    found = host_calls.done_on_host(find, shapes, x, *options)
    return found[0] if len(found) == 1 else tuple(found)


def distinct(
    array: np.ndarray, dim: int | None, return_inverse: bool, return_counts: bool
) -> list[np.ndarray]:
    """The distinct elements, with inverse and counts if requested."""
    values, inverse, counts = np.unique(
        ordered(array), return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    shape = array.shape if dim is None else inverse.shape
    made = [inverse.reshape(shape).astype(np.int64)] if return_inverse else []
    made = [values.astype(array.dtype), *made]
    return [*made, *([counts.astype(np.int64)] if return_counts else [])]


def ordered(array: np.ndarray) -> np.ndarray:
    """The array in a dtype that numpy sorts with NaN last: float32 for dtypes it does not know."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


class Unique(NamedTuple):
    """The distinct values with the array API standard's other results."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


def unique_all(x: Tensor) -> Unique:
    """The distinct values, their first positions, inverse indices, and counts."""
    shapes = [(None,), (None,), raw(x).shape, (None,)]
    return Unique(*host_calls.done_on_host(distinct_and_first, shapes, x))


def distinct_and_first(array: np.ndarray) -> list[np.ndarray]:
    """The distinct values, their first positions, inverse indices, and counts."""
    values, first, inverse, counts = np.unique(
        ordered(array).reshape(-1),
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )
    values = values.astype(array.dtype)
    return [values, first, np.asarray(inverse).reshape(array.shape), counts]


def unique_values(x: Tensor) -> Tensor:
    """The distinct values."""
    return unique_all(x).values


class UniqueCounts(NamedTuple):
    """The distinct values, and their counts."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct values, and inverse indices."""

    values: Tensor
    inverse_indices: Tensor


def unique_counts(x: Tensor) -> UniqueCounts:
    """The distinct values, and their counts."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor) -> UniqueInverse:
    """The distinct values, and inverse indices."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@method
@explained
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along an axis, that differ from the one before.

    >>> import gnomon as gn
    >>> gn.unique_consecutive(gn.tensor([1, 1, 2, 1]))
    Tensor([1, 2, 1])
    """
    return distinct_by(distinct_neighbours, input, dim, return_inverse, return_counts)


def distinct_neighbours(
    array: np.ndarray, dim: int | None, return_inverse: bool, return_counts: bool
) -> list[np.ndarray]:
    """The elements that differ from the one before, with inverse and counts if requested."""
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, dim, 0)
    flat = rows.reshape(rows.shape[0], math.prod(rows.shape[1:]))
    first = np.r_[True, (flat[1:] != flat[:-1]).any(1)] if rows.shape[0] else np.zeros(0, bool)
    kept, starts = rows[first], np.flatnonzero(first)
    inverse = np.cumsum(first) - 1
    shape = array.shape if dim is None else inverse.shape
    made = [kept if dim is None else np.ascontiguousarray(np.moveaxis(kept, 0, dim))]
    made += [inverse.reshape(shape)] if return_inverse else []
    return [*made, *([np.diff(np.r_[starts, rows.shape[0]])] if return_counts else [])]


@method
@explained
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of so many equal intervals of [min, max], or of the range.

    >>> import gnomon as gn
    >>> gn.histc(gn.tensor([0.0, 1.0, 1.5, 2.0]), bins=2, min=0, max=2)
    Tensor([1., 3.])
    """
    return host_calls.done_on_host(interval_counts, [(bins,)], input, bins, min, max)[0]


def interval_counts(array: np.ndarray, bins: int, min: float, max: float) -> list[np.ndarray]:
    """The number of elements in each interval."""
    array = array.reshape(-1)
    if bins < 1 or not (math.isfinite(min) and math.isfinite(max)) or min > max:
        raise ArgumentError(
            f"histc: needs intervals between finite bounds: got {bins} from {min} to {max}."
        )
    check_size("histc", bins, 8)
    low, high = (array.min(), array.max()) if min == max == 0 and array.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    if not np.isfinite([low, high]).all():
        raise ArgumentError(f"histc: the range of the elements is not finite: {low} to {high}.")
    inside = array[(array >= low) & (array <= high)]
    place = ((inside - low) / (high - low) * bins).astype(np.int64).clip(0, bins - 1)
    return [np.bincount(place, minlength=bins).astype(array.dtype)]


@method
@explained
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, a row each.

    >>> import gnomon as gn
    >>> gn.combinations(gn.tensor([1, 2, 3]))
    Tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.ndim != 1 or r < 0:
        raise ArgumentError(
            f"combinations: needs a vector and r of at least 0: got {tuple(input.shape)}, r {r}."
        )
    if not r:
        return input[:0]
    rows = math.comb(input.shape[0] + (r - 1) * with_replacement, r) if r < 64 else 1
    check_size("combinations", max(rows, 1) * r, 32)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    return FUNCTIONS["take"](input, from_array(places), axis=0)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm of every row minus each later one.

    Shapes: input (n, d) -> (m); m = n * (n - 1) // 2

    >>> import gnomon as gn
    >>> pdist(gn.tensor([[0.0], [1.0], [5.0]]))
    Tensor([1., 5., 4.])
    """
    if input.ndim != 2:
        raise ArgumentError(f"pdist: needs rows (n, d): got {tuple(input.shape)}.")
    count = input.shape[0]
    places = triu_indices(count, count, 1)
    first, second = (FUNCTIONS["take"](input, k, axis=0) for k in places)
    found = FUNCTIONS["vector_norm"](first - second, p, -1)
    return found if p else apply(unmoved, (found, input))


def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close.

    >>> import gnomon as gn
    >>> gn.allclose(gn.tensor([1.0]), gn.tensor([1.0 + 1e-7]))
    True
    """
    return bool(FUNCTIONS["isclose"](x, y, rtol, atol, equal_nan).all())


Tensor.allclose = allclose


def same_values(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    return tuple(self.shape) == tuple(other.shape) and bool((self == other).all())


Tensor.equal = same_values


@with_placing
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: object = int64, device: object = None
) -> Tensor:
    """The positions on and below a diagonal: a row of rows, a row of columns.

    >>> import gnomon as gn
    >>> gn.tril_indices(2, 2)
    Tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    check_device(device)
    return places_of(np.tril, "tril_indices", (row, col, offset)).to(dtype_of(dtype))


@with_placing
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: object = int64, device: object = None
) -> Tensor:
    """The positions on and above a diagonal: a row of rows, a row of columns.

    >>> import gnomon as gn
    >>> gn.triu_indices(2, 2)
    Tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    check_device(device)
    return places_of(np.triu, "triu_indices", (row, col, offset)).to(dtype_of(dtype))


def places_of(kept: Callable, name: str, given: tuple[int, int, int]) -> Tensor:
    """The positions of a triangle of a matrix."""
    if any(not hasattr(n, "__index__") for n in given) or min(given[:2]) < 0:
        raise ArgumentError(f"{name}: sizes are integers, not negative: got {given}.")
    row, col, offset = map(whole, given)
    check_size(name, max(row * col, row, col), 17)
    offset = max(-row, min(offset, col))
    places = np.nonzero(kept(np.ones((row, col), bool), offset))
    return from_array(np.stack(places).astype(int64.numpy))
