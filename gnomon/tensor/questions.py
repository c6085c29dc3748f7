"""Questions that PyTorch's functions ask of tensors: kinds, positions, histograms.

This file loads when one of its names is first used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import float64, int32
from gnomon.errors import ArgumentError
from gnomon.runtime.buffer import check_size
from gnomon.tensor.conversions import array_of
from gnomon.tensor.creation import shape_of
from gnomon.tensor.tensor import Tensor, from_array

# what depends on values


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """The positions on each axis of a shape, for positions as if it were laid flat.

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
    """The contents of bins, and where they end."""

    hist = property(lambda self: self[0], doc="What lies in each bin.")
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
    found = array_of(input.nonzero())[:size]
    rest = np.full((size - len(found), input.ndim), fill_value, np.int64)
    return from_array(np.concatenate([found, rest]))


# questions


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have one shape."""
    return tuple(input.shape) == tuple(other.shape)


def is_signed(input: Tensor) -> bool:
    """Whether a tensor's dtype has numbers below 0."""
    return input.dtype.kind in ("int", "float", "complex")


def get_device(input: Tensor) -> int:
    """The number of a tensor's GPU: −1, main memory."""
    return -1


def is_conj(input: Tensor) -> bool:
    """Whether a conjugate waits: never."""
    return False


is_neg = is_inference = is_distributed = is_conj


def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """The mantissa in [0.5, 1) and the exponent of 2 whose product each element is.

    >>> import gnomon as gn
    >>> frexp(gn.tensor([6.0, -0.25]))
    (Tensor([ 0.75, -0.5 ]), Tensor([ 3, -1], dtype=gnomon.int32))
    """
    exponent = np.asarray(np.frexp(array_of(input.detach()).astype(np.float64))[1])
    halves = [
        from_array(np.asarray(np.exp2(-part))) for part in halved(exponent.astype(np.float64))
    ]
    mantissa = input.to(float64) * halves[0] * halves[1]
    return mantissa.to(input.dtype), from_array(exponent.astype(np.int32)).to(int32)


def halved(exponent: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two exponents whose sum is this: 2 to the power of each is a float."""
    half = np.asarray(np.floor(exponent / 2))
    return half, np.asarray(exponent - half)
