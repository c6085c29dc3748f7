"""Composite functions of complex numbers, written out of simpler ones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from gnomon.dtypes import complex64, complex128, promote
from gnomon.ops.combining import number_of_powers
from gnomon.tensor.complex_math import complex_abs, conj
from gnomon.tensor.complex_tensor import Complex, as_complex, compose, parts
from gnomon.tensor.creation import ones
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.matrices import powers
from gnomon.tensor.tensor import Tensor


def complex_lerp(x: Any, end: Any, weight: Any) -> Any:
    """Interpolate from x to end by a weight, from the end's side for weights from 1/2 on."""
    away = end - x
    far = end - away * (1 - weight)
    if not isinstance(weight, Tensor):
        return x + weight * away if abs(weight) < 0.5 else far
    return FUNCTIONS["where"](FUNCTIONS["abs"](weight) < 0.5, x + weight * away, far)


def complex_addcmul(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """x + value · tensor1 · tensor2."""
    return x + tensor1 * value * tensor2


def complex_addcdiv(x: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """x + value · tensor1 / tensor2."""
    return x + tensor1 * value / tensor2


def complex_dist(x: Any, y: Any, p: float = 2) -> Tensor:
    """The p-norm of x − y."""
    return FUNCTIONS["dist"](complex_abs(x - y), 0, p)


def complex_float_power(x: Any, y: Any) -> Any:
    """x to the power y in complex128."""
    return FUNCTIONS["pow"](
        *[as_complex(v, complex128) if isinstance(v, Tensor) else v for v in (x, y)]
    )


def complex_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    """The sum of the means of neighbours, each times the distance of their places."""
    rows = y.movedim(axis, -1)
    middle = (rows[..., 1:] + rows[..., :-1]) * 0.5
    if x is not None:
        places = x if x.ndim == 1 else x.movedim(axis, -1)
        dx = places[..., 1:] - places[..., :-1]
    return (middle * dx).sum(-1)


def complex_var_mean(x: Complex, *args: Any, **kwargs: Any) -> tuple[Tensor, Any]:
    """The variance of both parts together, and the mean."""
    re, im = (FUNCTIONS["var_mean"](part, *args, **kwargs) for part in parts(x))
    return re[0] + im[0], compose(re[1], im[1])


def complex_std_mean(x: Complex, *args: Any, **kwargs: Any) -> tuple[Tensor, Any]:
    """The root of the variance, and the mean."""
    variance, middle = complex_var_mean(x, *args, **kwargs)
    return variance.sqrt(), middle


def complex_cov(
    x: Complex, *, correction: Any = 1, fweights: Any = None, aweights: Any = None
) -> Any:
    """The covariances of variables, the rows of x: sum(w (x − mean) (x − mean)ᴴ) / count."""
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    weight = ones(rows.shape[1], dtype=x.dtype.to_real())
    for given in (fweights, aweights):
        weight = weight if given is None else weight * given
    total = weight.sum()
    away = rows - (rows * weight).sum(1, keepdim=True) / total
    lost = total if aweights is None else (weight * aweights).sum()
    count = total - correction * lost / total
    made = FUNCTIONS["matmul"](away, conj(away * weight).transpose(0, 1)) / count.clamp(min=0)
    return made.reshape(()) if len(rows) == 1 else made


def complex_corrcoef(x: Complex) -> Any:
    """Correlations of variables, the rows of x; their parts are between −1 and 1."""
    both = complex_cov(x)
    if both.ndim < 2:
        return both / both
    size = both.diagonal().real.sqrt()
    ratio = both / size[:, None] / size[None]
    return compose(*[part.clamp(-1, 1) for part in parts(ratio)])


def complex_block_diag(*xs: Any) -> Any:
    """A matrix with these on its diagonal, one after another, and 0 elsewhere."""
    return of_both_parts("block_diag", xs)


def complex_cartesian_prod(*xs: Any) -> Any:
    """All choices of one element from each vector, a row each."""
    return of_both_parts("cartesian_prod", xs)


def of_both_parts(name: str, xs: Sequence[Any]) -> Any:
    """Apply a function that moves elements to real and to imaginary parts, in one dtype."""
    dtype = reduce(promote, [x.dtype for x in xs], complex64)
    given = [parts(as_complex(x, dtype)) for x in xs]
    return compose(*[FUNCTIONS[name](*part) for part in zip(*given, strict=True)])


def complex_vander(x: Complex, n: int | None = None, increasing: bool = False) -> Any:
    """The powers of a vector's elements as columns, the highest first."""
    made = powers(x, N=number_of_powers(len(x), n))
    return made if increasing else made.flip(-1)
