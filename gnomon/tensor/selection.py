"""Functions whose result's shape depends on values: they are evaluated where they are called.

Inside gn.compile they raise TraceError, as every look at a value does.
"""

from __future__ import annotations

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


def unique_counts(x: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct values, and how many there are of each."""
    found = unique_all(x)
    return found.values, found.counts


def unique_inverse(x: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct values, and where each element went."""
    found = unique_all(x)
    return found.values, found.inverse_indices


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
