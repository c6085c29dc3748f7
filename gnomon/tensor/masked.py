"""gn.masked: reductions of the elements where a mask holds, and their shares.

Others count as what changes nothing: 0 in a sum, −inf in a largest. Tensors that carry a mask of
their own are not here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.dtypes import bool_
from gnomon.tensor.composites import nanmedian
from gnomon.tensor.creation import ones_like
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.limits import iinfo
from gnomon.tensor.tensor import Tensor

Axes = int | Sequence[int] | None


def fill_in(input: Tensor, mask: Tensor | None, value: float, dtype: object = None) -> Tensor:
    """The tensor with a fill value outside of the mask; infinities become an integer's limits."""
    x = input if dtype is None else input.to(dtype)
    if mask is None:
        return x
    if math.isinf(value) and not x.dtype.is_floating_point:
        value = iinfo(x.dtype).max if value > 0 else iinfo(x.dtype).min
    return FUNCTIONS["where"](mask.to(bool_), x, value)


def of_all(dim: Axes) -> Axes:
    """The axes of a masked function: None for (), which means all."""
    return None if dim == () else dim


def masked(name: str, value: float, call: Callable[..., Any] | None = None) -> Callable:
    """The masked version of a function."""
    function = call or FUNCTIONS[name]

    def reduced(
        input: Tensor,
        dim: Axes = None,
        *,
        dtype: object = None,
        mask: Tensor | None = None,
        **words: Any,
    ) -> Tensor:
        return function(fill_in(input, mask, value, dtype), of_all(dim), **words)

    reduced.__name__ = reduced.__qualname__ = name
    reduced.__doc__ = f"{name} of the elements where the mask holds; others count as {value}."
    return reduced


def over_all(x: Tensor, dim: Axes, keepdim: bool = False) -> Tensor:
    """logsumexp along axes; None means all of them."""
    every = tuple(range(x.ndim)) if dim is None else dim
    return FUNCTIONS["logsumexp"](x, every, keepdim)


def place_of(name: str) -> Callable[..., Tensor]:
    """The function argmax or argmin, whose positions have the dtype of the elements."""
    return lambda x, dim, **words: FUNCTIONS[name](x, dim, **words).to(x.dtype)


amax, amin = masked("amax", -math.inf), masked("amin", math.inf)
argmax = masked("argmax", -math.inf, place_of("argmax"))
argmin = masked("argmin", math.inf, place_of("argmin"))
cumprod, cumsum = masked("cumprod", 1), masked("cumsum", 0)
log_softmax, softmax = masked("log_softmax", -math.inf), masked("softmax", -math.inf)
logsumexp = masked("logsumexp", -math.inf, over_all)
prod, sum, softmin = masked("prod", 1), masked("sum", 0), masked("softmin", math.inf)


def counted(x: Tensor, dim: Axes, mask: Tensor | None) -> Tensor:
    """The number of unmasked elements along axes, which are kept with size 1."""
    return sum(ones_like(x), dim, mask=mask, keepdim=True)


def moments(x: Tensor, dim: Axes, mask: Tensor | None, lost: float) -> tuple[Tensor, Tensor]:
    """The mean and the sum of squared differences over n − lost elements; axes are kept."""
    count = counted(x, dim, mask)
    mean = sum(x, dim, mask=mask, keepdim=True) / count
    away = fill_in(x - mean, mask, 0)
    return mean, sum(away * away, dim, keepdim=True) / (count - lost).clamp(min=0)


def drop_reduced(x: Tensor, dim: Axes, keepdim: bool) -> Tensor:
    """A result without the reduced axes of size 1."""
    dim = of_all(dim)
    if keepdim:
        return x
    return x.reshape(()) if dim is None else FUNCTIONS["squeeze"](x, dim)


def mean(
    input: Tensor,
    dim: Axes = None,
    *,
    keepdim: bool = False,
    dtype: object = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements where the mask holds."""
    return drop_reduced(moments(fill_in(input, None, 0, dtype), dim, mask, 0)[0], dim, keepdim)


def var(
    input: Tensor,
    dim: Axes = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: object = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements where the mask holds."""
    lost = correction if correction is not None else float(unbiased is not False)
    return drop_reduced(moments(fill_in(input, None, 0, dtype), dim, mask, lost)[1], dim, keepdim)


def std(input: Tensor, dim: Axes = None, unbiased: bool | None = None, **words: Any) -> Tensor:
    """The root of var."""
    return var(input, dim, unbiased, **words).sqrt()


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: object = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements where the mask holds, along an axis."""
    return nanmedian(fill_in(input, mask, math.nan, dtype), dim, keepdim).values


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Axes = None,
    *,
    keepdim: bool = False,
    dtype: object = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The length of the elements where the mask holds."""
    x = fill_in(input, mask, math.inf if ord == -math.inf else 0, dtype)
    return FUNCTIONS["vector_norm"](x, ord, of_all(dim), keepdim)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: object = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements where the mask holds over their length, at least eps."""
    x = fill_in(input, mask, 0, dtype)
    return x / norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp(min=eps)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: object = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(x) + exp(y)) of the elements where their masks hold."""
    x = fill_in(input, input_mask, -math.inf, dtype)
    return FUNCTIONS["logaddexp"](x, fill_in(other, other_mask, -math.inf, dtype))
