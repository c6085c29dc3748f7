"""Functions of complex tensors over axes, and of several; complex_math.py has those of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from gnomon.dtypes import dtype_of
from gnomon.ops.arguments import choice
from gnomon.ops.joining import BORDERS
from gnomon.tensor.complex_tensor import Complex, cast, compose, parts
from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.standard import broadcast_shapes
from gnomon.tensor.tensor import Tensor

Axes = int | Sequence[int] | None


def complex_prod(x: Any, axis: Axes = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """The product over axes, in pairs."""
    x = x if dtype is None else cast(x, dtype_of(dtype))
    chosen = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = tuple(k % x.ndim for k in chosen)
    rows = x.reshape(1) if not x.ndim else x.unsqueeze(-1) if not axes else x
    if axes:
        rows = x.movedim(axes, tuple(range(-len(axes), 0))).flatten(-len(axes))
    while rows.shape[-1] > 1:
        half = rows.shape[-1] // 2
        made = rows[..., :half] * rows[..., half : 2 * half]
        rows = FUNCTIONS["cat"]([made, rows[..., 2 * half :]], -1) if rows.shape[-1] % 2 else made
    made = rows[..., 0] if rows.shape[-1] else full(rows.shape[:-1], 1, dtype=x.dtype)
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
    return made.reshape(shape) if keepdims else made


def complex_cumprod(x: Any, axis: int, *, dtype: Any = None) -> Any:
    """The cumulative products, in logarithmically many steps."""
    x = x if dtype is None else cast(x, dtype_of(dtype))
    rows = (x if x.ndim else x.reshape(1)).movedim(axis, -1)
    step = 1
    while step < rows.shape[-1]:
        rows = FUNCTIONS["cat"]([rows[..., :step], rows[..., step:] * rows[..., :-step]], -1)
        step *= 2
    return rows.movedim(-1, axis).reshape(x.shape)


def complex_var(x: Complex, *args: Any, **kwargs: Any) -> Tensor:
    """The variance: that of both parts together."""
    re, im = (part.var(*args, **kwargs) for part in parts(x))
    return re + im


def complex_std(x: Complex, *args: Any, **kwargs: Any) -> Tensor:
    """The root of the variance."""
    return complex_var(x, *args, **kwargs).sqrt()


def complex_linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """x · weightᵀ + bias."""
    made = FUNCTIONS["matmul"](x, weight.mT)
    return made if bias is None else made + bias


def complex_convolution(name: str) -> Callable[..., Any]:
    """The function of a complex convolution, computed from those of the parts."""

    def function(x: Any, weight: Any, bias: Any = None, *args: Any, **kwargs: Any) -> Any:
        def slid(a: Tensor, b: Tensor) -> Tensor:
            return FUNCTIONS[name](a, b, None, *args, **kwargs)

        (x_re, x_im), (w_re, w_im) = (
            parts(compose(v)) if v.dtype.kind != "complex" else parts(v) for v in (x, weight)
        )
        made = compose(slid(x_re, w_re) - slid(x_im, w_im), slid(x_re, w_im) + slid(x_im, w_re))
        return made if bias is None else made + bias.reshape(-1, *(1,) * (weight.ndim - 2))

    return function


complex_conv1d, complex_conv2d, complex_conv3d = (
    complex_convolution(f"conv{count}d") for count in (1, 2, 3)
)
complex_conv_transpose1d, complex_conv_transpose2d, complex_conv_transpose3d = (
    complex_convolution(f"conv_transpose{count}d") for count in (1, 2, 3)
)


def complex_addmm(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta · x + alpha · a product of matrices, also of batches and with a vector."""
    made = FUNCTIONS["matmul"](a, b) * alpha
    return made if beta == 0 else x * beta + made


complex_addmv = complex_baddbmm = complex_addmm


def complex_addr(x: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta · x + alpha · the product of a column and a row."""
    return complex_addmm(x, a.unsqueeze(-1), b.unsqueeze(0), beta=beta, alpha=alpha)


def complex_pad(
    x: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None
) -> Complex:
    """Each part padded, with its part of the value."""
    choice("pad", "mode", mode, ("constant", *BORDERS))
    values = parts(value if isinstance(value, complex) else complex(value or 0.0))
    if mode != "constant":
        values = (None, None)
    both = zip(parts(x if isinstance(x, Complex) else compose(x)), values, strict=True)
    return compose(*(FUNCTIONS["pad"](part, pad, mode, of) for part, of in both))


def complex_diff(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None
) -> Any:
    """Differences of neighbours, repeated n times."""
    ends = [each for each in (prepend, x, append) if each is not None]
    rows = (FUNCTIONS["cat"](ends, axis) if len(ends) > 1 else x).movedim(axis, -1)
    made = reduce(lambda rest, _: rest[..., 1:] - rest[..., :-1], range(n), rows)
    return made.movedim(-1, axis)


def complex_broadcast_tensors(*xs: Any) -> tuple[Any, ...]:
    """All tensors, broadcast to their common shape."""
    shape = broadcast_shapes(*(tuple(x.shape) for x in xs))
    return tuple(x.expand(shape) for x in xs)


def complex_l1_loss(x: Any, target: Any, *, reduction: str = "mean", weight: Any = None) -> Tensor:
    """The reduced loss of distances |x − y|, each times its weight."""
    away = FUNCTIONS["abs"](x - target)
    zeros = full((), 0.0, dtype=away.dtype)
    return FUNCTIONS["l1_loss"](away, zeros, reduction=reduction, weight=weight)
