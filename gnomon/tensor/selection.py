"""Functions whose result's shape depends on values: they are evaluated where they are called.

Inside gn.compile they raise TraceError, as every look at a value does.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from gnomon.ops.registry import OPS
from gnomon.tensor.conversions import array_of
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor, apply, from_array, method


@method
def nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of what is not zero: one row each, or one tensor per axis."""
    found = np.nonzero(np.atleast_1d(array_of(self)))[: max(self.ndim, 1)]
    if as_tuple:
        return tuple(from_array(x.astype(np.int64)) for x in found)
    return from_array(np.stack(found, axis=1).astype(np.int64)[:, : self.ndim])


def argwhere(x: Tensor) -> Tensor:
    """The positions of what is not zero, one row each."""
    return nonzero(x)


def where(condition: Tensor, x: Any = None, y: Any = None) -> Any:
    """x where the condition holds, else y; alone, the positions where it holds."""
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    return apply(OPS["where"], (condition, x, y))


Tensor.where = lambda self, condition, other: where(condition, self, other)


@method
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, in one axis."""
    x, mask = FUNCTIONS["broadcast_tensors"](self, mask)
    return x[mask]


@method
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number occurs."""
    shares = None if weights is None else array_of(weights)
    return from_array(np.bincount(array_of(self), shares, minlength))


@method
def unique(
    self: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The distinct elements, in order; and where each one went, and how often it occurs."""
    values, inverse, counts = np.unique(
        array_of(self), return_inverse=True, return_counts=True, axis=dim, equal_nan=False
    )
    shape = self.shape if dim is None else inverse.shape
    made = [from_array(values)]
    made += [from_array(inverse.reshape(shape).astype(np.int64))] if return_inverse else []
    made += [from_array(counts.astype(np.int64))] if return_counts else []
    return made[0] if len(made) == 1 else tuple(made)


class Unique(NamedTuple):
    """The distinct values with what the array API standard gives beside them."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


def unique_all(x: Tensor) -> Unique:
    """The distinct values, where each stood first, where elements went, and how many there are."""
    found = np.unique(
        array_of(x).reshape(-1),
        return_index=True,
        return_inverse=True,
        return_counts=True,
        equal_nan=False,
    )
    values, first, inverse, counts = (from_array(np.asarray(part)) for part in found)
    return Unique(values, first, inverse.reshape(tuple(x.shape)), counts)


def unique_values(x: Tensor) -> Tensor:
    """The distinct values."""
    return unique_all(x).values


class UniqueCounts(NamedTuple):
    """The distinct values, and how many there are of each."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct values, and where each element went."""

    values: Tensor
    inverse_indices: Tensor


def unique_counts(x: Tensor) -> UniqueCounts:
    """The distinct values, and how many there are of each."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor) -> UniqueInverse:
    """The distinct values, and where each element went."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


@method
def unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements, or slices along an axis, that differ from the one before."""
    array = array_of(self)
    rows = array.reshape(-1) if dim is None else np.moveaxis(array, dim, 0)
    flat = rows.reshape(rows.shape[0], -1)
    first = np.r_[True, (flat[1:] != flat[:-1]).any(1)] if rows.shape[0] else np.zeros(0, bool)
    kept, starts = rows[first], np.flatnonzero(first)
    inverse = np.cumsum(first) - 1
    made = [from_array(kept if dim is None else np.moveaxis(kept, 0, dim))]
    shape = array.shape if dim is None else inverse.shape
    made += [from_array(inverse.reshape(shape))] if return_inverse else []
    made += [from_array(np.diff(np.r_[starts, rows.shape[0]]))] if return_counts else []
    return made[0] if len(made) == 1 else tuple(made)


@method
def histc(self: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of so many equal intervals of [min, max], or of their range."""
    array = array_of(self).reshape(-1)
    low, high = (array.min(), array.max()) if min == max == 0 and array.size else (min, max)
    if low == high:
        low, high = low - 1, high + 1
    inside = array[(array >= low) & (array <= high)]
    place = ((inside - low) / (high - low) * bins).astype(np.int64).clip(0, bins - 1)
    return from_array(np.bincount(place, minlength=bins).astype(array.dtype))


@method
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector, a row each."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(self.shape[0]), r)), np.int64).reshape(-1, r)
    return FUNCTIONS["take"](self, from_array(places), axis=0)


def quantile(input: Tensor, q: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The values below which shares q of every row lie; several shares come along a first axis."""
    shares = q.tolist() if isinstance(q, Tensor) else q
    if not isinstance(shares, (list, tuple)):
        return at_share(input, shares, *args, **kwargs)
    return FUNCTIONS["stack"]([at_share(input, float(s), *args, **kwargs) for s in shares])


at_share = FUNCTIONS["quantile"]
FUNCTIONS["quantile"] = Tensor.quantile = quantile


def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether all elements are close."""
    return bool(FUNCTIONS["isclose"](x, y, rtol, atol, equal_nan).all())


Tensor.allclose = allclose


def same_values(self: Tensor, other: Tensor) -> bool:
    """Whether shape and all elements are equal."""
    return tuple(self.shape) == tuple(other.shape) and bool((self == other).all())


Tensor.equal = same_values
