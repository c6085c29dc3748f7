"""Questions that PyTorch's functions ask of tensors: kinds, positions, histograms.

This file loads when one of its names is first used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import float64
from gnomon.errors import ArgumentError
from gnomon.lazy import host_calls
from gnomon.runtime.buffer import check_size
from gnomon.tensor.creation import shape_of
from gnomon.tensor.tensor import Tensor, array_of, from_array, raw

# what depends on values


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Convert positions in a flattened shape to positions on each of its axes.

    >>> import gnomon as gn
    >>> unravel_index(gn.tensor([0, 5]), (2, 3))
    (Tensor([0, 1]), Tensor([0, 2]))
    """
    sizes = tuple(shape_of((shape,)))
    made, rest = [], indices
    for size in reversed(sizes):
        made.append(rest % size)
        rest = rest // size
    return tuple(reversed(made))


class Histogram(tuple):
    """The counts of bins, and their edges."""

    hist = property(lambda self: self[0], doc="What is in each bin.")
    bin_edges = property(lambda self: self[1], doc="Where bins begin and end.")


def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """The number, weight or density of the elements in each bin, and the ends of bins.

    >>> import gnomon as gn
    >>> histogram(gn.tensor([0.0, 1.0, 1.5, 2.0]), 2).hist
    Tensor([1., 3.])
    """
    made = histogramdd(input.reshape(-1, 1), [bins], range=range, weight=weight, density=density)
    return Histogram((made[0], made[1][0]))


def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """histogram of points, whose last axis is their coordinates: a bin for each product of bins.

    >>> import gnomon as gn
    >>> histogramdd(gn.tensor([[0.0, 0.0], [1.0, 1.0]]), [2, 2]).hist
    Tensor([[1., 0.],
            [0., 1.]])
    """
    points = array_of(input).reshape(math.prod(input.shape[:-1]), input.shape[-1])
    bins = [bins] * points.shape[1] if isinstance(bins, int) else bins
    ends = [array_of(b).astype(np.float64) if isinstance(b, Tensor) else b for b in bins]
    if len(ends) != points.shape[1] or not all(np.size(e) for e in ends):
        raise ArgumentError(
            f"histogram: needs a number of bins, or their ends, for each of {points.shape[1]} "
            f"coordinates: got {len(ends)} with {[int(np.size(e)) for e in ends]} values."
        )
    check_size("histogram", math.prod(e if isinstance(e, int) else len(e) for e in ends), 8)
    pairs = None if range is None else list(zip(range[::2], range[1::2], strict=True))
    shares = None if weight is None else array_of(weight).reshape(-1)
    with np.errstate(invalid="ignore"):
        hist, edges = np.histogramdd(points, ends, pairs, density, shares)
    kind = input.dtype.numpy
    made = tuple(from_array(edge.astype(kind)) for edge in edges)
    return Histogram((from_array(hist.astype(kind)), made))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first positions of what is not zero, filled up to a number of rows.

    >>> import gnomon as gn
    >>> nonzero_static(gn.tensor([0, 5]), size=2)
    Tensor([[ 1],
            [-1]])
    """
    shapes = [(size, input.ndim)]
    return host_calls.done_on_host(first_positions, shapes, input, size, fill_value)[0]


def first_positions(array: np.ndarray, size: int, fill_value: int) -> list[np.ndarray]:
    """The first positions of nonzero elements, padded to `size` rows with a number."""
    found = np.stack(np.nonzero(np.atleast_1d(array)), axis=1)[:size, : array.ndim]
    rest = np.full((size - len(found), array.ndim), fill_value)
    return [np.concatenate([found, rest]).astype(np.int64)]


# questions


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    return tuple(input.shape) == tuple(other.shape)


def is_signed(input: Tensor) -> bool:
    """Whether a tensor's dtype is signed."""
    return input.dtype.is_signed


def get_device(input: Tensor) -> int:
    """The number of a tensor's GPU: −1 for main memory."""
    return -1


def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is pending: False."""
    return False


is_neg = is_inference = is_distributed = is_conj


def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """The mantissa in [0.5, 1) and the exponent of 2 whose product each element is.

    >>> import gnomon as gn
    >>> frexp(gn.tensor([6.0, -0.25]))
    (Tensor([ 0.75, -0.5 ]), Tensor([ 3, -1], dtype=gnomon.int32))
    """
    exponent, *halves = host_calls.done_on_host(exponents, [raw(input).shape] * 3, input.detach())
    mantissa = input.to(float64) * halves[0] * halves[1]
    return mantissa.to(input.dtype), exponent


def exponents(array: np.ndarray) -> list[np.ndarray]:
    """Binary exponents, and two factors that remove each: a single one may exceed the range."""
    exponent = np.asarray(np.frexp(array.astype(np.float64))[1])
    half = np.floor(exponent / 2)
    factors = [np.asarray(np.exp2(-part)) for part in (half, exponent - half)]
    return [exponent.astype(np.int32), *factors]
