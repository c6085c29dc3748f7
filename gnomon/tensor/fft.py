"""gn.fft: discrete Fourier transforms under numpy's and PyTorch's names.

Values are computed by numpy's pocketfft in the dtype of the input; gradients are transforms too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ops.fourier import OPPOSITE, fourier, fourier_of_real, fourier_to_real
from gnomon.ops.registry import explained
from gnomon.tensor.complex_tensor import Complex, compose
from gnomon.tensor.creation import also, finished, get_default_dtype
from gnomon.tensor.device import check_device
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.placing import with_placing
from gnomon.tensor.tensor import Tensor, from_array

Sizes = int | Sequence[int] | None

__all__ = [
    *("fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2"),
    *("ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft"),
    *("rfft2", "rfftfreq", "rfftn"),
]

# what all are made of


def check_input(name: str, input: Tensor, real: bool = False) -> Tensor:
    """The input in a dtype that can be transformed."""
    if real and input.is_complex():
        raise DtypeError(f"fft.{name}: needs real numbers: got {input.dtype.name}. Take x.real.")
    kind = get_default_dtype() if input.dtype.kind in ("int", "uint", "bool") else input.dtype
    if kind.to_real().bits < 32:
        raise DtypeError(f"fft.{name}: {kind.name} is not supported here. Use x.float().")
    return input.to(kind)


def way_of(name: str, norm: str | None) -> str:
    """The direction that is scaled, by the name of a norm."""
    if norm not in (None, *OPPOSITE):
        raise ArgumentError(f"fft.{name}: norm is one of {', '.join(OPPOSITE)}: got {norm!r}.")
    return norm or "backward"


def axes_of(name: str, x: Tensor, s: Sizes, dim: Sizes) -> tuple[list[int], list[int | None]]:
    """The transformed axes, and the sizes to which they are cut or padded."""
    sizes = None if s is None else [s] if isinstance(s, int) else list(s)
    if dim is None:
        dims = list(range(x.ndim)) if sizes is None else list(range(x.ndim - len(sizes), x.ndim))
    else:
        dims = [dim] if isinstance(dim, int) else list(dim)
    sizes = [None] * len(dims) if sizes is None else sizes
    if any(not -x.ndim <= k < x.ndim for k in dims) or len(sizes) != len(dims):
        raise ShapeError(
            f"fft.{name}: needs axes of {tuple(x.shape)} and a size for each: got {dims} and {s}."
        )
    dims = [k % x.ndim for k in dims]
    if len(set(dims)) < len(dims):
        raise ArgumentError(f"fft.{name}: dims must be unique: got {dims}.")
    return dims, [None if n == -1 else n for n in sizes]


def brought(name: str, x: Tensor, dims: Sequence[int], sizes: Sequence[int | None]) -> Tensor:
    """The tensor, cut or zero-padded to these sizes."""
    for k, n in zip(dims, sizes, strict=True):
        size = x.shape[k] if n is None else n
        if size < 1:
            raise ShapeError(f"fft.{name}: invalid number of data points ({size}) in axis {k}.")
        if size > x.shape[k]:
            x = FUNCTIONS["pad"](x, [*[0] * (2 * (x.ndim - 1 - k)), 0, size - x.shape[k]])
        x = x.narrow(k, 0, size) if size < x.shape[k] else x
    return x


def along(x: Any, dims: Sequence[int], forward: bool, norm: str) -> Any:
    """The complex Fourier transform along axes."""
    if not dims:
        return x
    last = tuple(range(-len(dims), 0))
    settings = {"axes": len(dims), "forward": forward, "norm": norm}
    pair = apply(fourier, (x.movedim(tuple(dims), last)._pair,), settings)
    return Complex((pair,)).movedim(last, tuple(dims))


def to_complex(name: str, x: Tensor, s: Sizes, dim: Sizes, norm: Any, forward: bool) -> Tensor:
    """The complex Fourier transform of a tensor along axes, forward or inverse."""
    x = check_input(name, x)
    dims, sizes = axes_of(name, x, s, dim)
    x = brought(name, x, dims, sizes)
    return along(x if isinstance(x, Complex) else compose(x), dims, forward, way_of(name, norm))


def from_real(name: str, x: Tensor, s: Sizes, dim: Sizes, norm: Any) -> Tensor:
    """The first half of the Fourier transform of real numbers, along its last axis."""
    x, way = check_input(name, x, real=True), way_of(name, norm)
    dims, sizes = axes_of(name, x, s, dim)
    if not dims:
        raise ShapeError(f"fft.{name}: must transform at least one axis: got {tuple(x.shape)}.")
    x = brought(name, x, dims, sizes).movedim(dims[-1], -1)
    made: Any = Complex((apply(fourier_of_real, (x,), {"norm": way}),))
    return along(made.movedim(-1, dims[-1]), dims[:-1], True, way)


def to_real(name: str, x: Tensor, s: Sizes, dim: Sizes, norm: Any) -> Tensor:
    """The real inverse of the first half of a Fourier transform."""
    x, way = check_input(name, x), way_of(name, norm)
    dims, sizes = axes_of(name, x, s, dim)
    if not dims:
        raise ShapeError(f"fft.{name}: must transform at least one axis: got {tuple(x.shape)}.")
    size = 2 * (x.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if size < 1:
        raise ShapeError(f"fft.{name}: invalid number of data points ({size}) in axis {dims[-1]}.")
    x = brought(name, x, dims, [*sizes[:-1], size // 2 + 1])
    made = along(x if isinstance(x, Complex) else compose(x), dims[:-1], False, way)
    pair = made.movedim(dims[-1], -1)._pair
    real = apply(fourier_to_real, (pair,), {"size": size, "norm": way})
    return real.movedim(-1, dims[-1])


def hermitian(name: str, x: Tensor, s: Sizes, dim: Sizes, norm: Any) -> Tensor:
    """The real transform of Hermitian numbers, given their first half."""
    return to_real(name, check_input(name, x).conj(), s, dim, OPPOSITE[way_of(name, norm)])


def hermitian_half(name: str, x: Tensor, s: Sizes, dim: Sizes, norm: Any) -> Tensor:
    """The inverse Fourier transform of a real tensor, for ihfft: half of a Hermitian result."""
    return from_real(name, x, s, dim, OPPOSITE[way_of(name, norm)]).conj()


def named(**words: str) -> Callable[[Callable], Callable]:
    """A decorator that accepts PyTorch's argument names, and refuses arguments of a wrong kind."""
    return lambda function: also(**words)(explained(function, f"fft.{function.__name__}"))


of_one_axis, of_axes = named(input="x", dim="axis"), named(input="x", dim="axes")

# one axis


@of_one_axis
def fft(x: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform.

    >>> fft(Tensor([1.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return to_complex("fft", x, n, axis, norm, True)


@of_one_axis
def ifft(x: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of fft.

    >>> ifft(Tensor([4.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return to_complex("ifft", x, n, axis, norm, False)


@of_one_axis
def rfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The first half of the transform of real numbers; the other half is its conjugate.

    >>> rfft(Tensor([1.0, 0.0, 0.0, 0.0]))
    Tensor([1.+0.j, 1.+0.j, 1.+0.j])
    """
    return from_real("rfft", x, n, axis, norm)


@of_one_axis
def irfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of rfft.

    >>> irfft(Tensor([4.0, 0.0, 0.0]))
    Tensor([1., 1., 1., 1.])
    """
    return to_real("irfft", x, n, axis, norm)


@of_one_axis
def hfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform of the first half of numbers whose other half is its conjugate.

    >>> hfft(Tensor([1.0, 0.0, 0.0]))
    Tensor([1., 1., 1., 1.])
    """
    return hermitian("hfft", x, n, axis, norm)


@of_one_axis
def ihfft(x: Tensor, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of hfft.

    >>> ihfft(Tensor([4.0, 0.0, 0.0, 0.0]))
    Tensor([1.-0.j, 1.-0.j, 1.-0.j])
    """
    return hermitian_half("ihfft", x, n, axis, norm)


# two axes, and several


@of_axes
def fft2(x: Tensor, s: Sizes = None, axes: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """fft along two axes."""
    return to_complex("fft2", x, s, axes, norm, True)


@of_axes
def fftn(x: Tensor, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Tensor:
    """fft along several axes, all of them where none are given."""
    return to_complex("fftn", x, s, axes, norm, True)


@of_axes
def ifft2(x: Tensor, s: Sizes = None, axes: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """ifft along two axes."""
    return to_complex("ifft2", x, s, axes, norm, False)


@of_axes
def ifftn(x: Tensor, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Tensor:
    """ifft along several axes, all of them where none are given."""
    return to_complex("ifftn", x, s, axes, norm, False)


@of_axes
def rfft2(x: Tensor, s: Sizes = None, axes: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """rfft along two axes."""
    return from_real("rfft2", x, s, axes, norm)


@of_axes
def rfftn(x: Tensor, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Tensor:
    """rfft along several axes, all of them where none are given."""
    return from_real("rfftn", x, s, axes, norm)


@of_axes
def irfft2(x: Tensor, s: Sizes = None, axes: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """irfft along two axes."""
    return to_real("irfft2", x, s, axes, norm)


@of_axes
def irfftn(x: Tensor, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Tensor:
    """irfft along several axes, all of them where none are given."""
    return to_real("irfftn", x, s, axes, norm)


@of_axes
def hfft2(x: Tensor, s: Sizes = None, axes: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """hfft along two axes."""
    return hermitian("hfft2", x, s, axes, norm)


@of_axes
def hfftn(x: Tensor, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Tensor:
    """hfft along several axes, all of them where none are given."""
    return hermitian("hfftn", x, s, axes, norm)


@of_axes
def ihfft2(x: Tensor, s: Sizes = None, axes: Sizes = (-2, -1), norm: str | None = None) -> Tensor:
    """ihfft along two axes."""
    return hermitian_half("ihfft2", x, s, axes, norm)


@of_axes
def ihfftn(x: Tensor, s: Sizes = None, axes: Sizes = None, norm: str | None = None) -> Tensor:
    """ihfft along several axes, all of them where none are given."""
    return hermitian_half("ihfftn", x, s, axes, norm)


# places


def frequencies(places: np.ndarray, dtype: object, device: object, wanted: bool) -> Tensor:
    """The frequencies of a transform: places over a length."""
    check_device(device)
    kind = get_default_dtype() if dtype is None else dtype_of(dtype)
    return finished(from_array(places.astype(kind.numpy)), wanted)


@with_placing
@named()
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequency of each place of fft, of n samples at a distance d.

    >>> fftfreq(4)
    Tensor([ 0.  ,  0.25, -0.5 , -0.25])
    """
    n = index(n)
    places = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return frequencies(places * (1.0 / (n * d)), dtype, device, requires_grad)


@with_placing
@named()
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequency of each place of rfft, of n samples at a distance d.

    >>> rfftfreq(4)
    Tensor([0.  , 0.25, 0.5 ])
    """
    n = index(n)
    return frequencies(np.arange(n // 2 + 1) * (1.0 / (n * d)), dtype, device, requires_grad)


def shifted(x: Tensor, dim: Sizes, sign: int) -> Tensor:
    """The tensor rolled by half its size along axes."""
    dims = list(range(x.ndim)) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    steps = [x.shape[k] // 2 if sign > 0 else (x.shape[k] + 1) // 2 for k in dims]
    return FUNCTIONS["roll"](x, steps, dims) if dims else x


@of_axes
def fftshift(x: Tensor, axes: Sizes = None) -> Tensor:
    """The frequencies in order, 0 in the middle.

    >>> fftshift(Tensor([0.0, 1.0, -2.0, -1.0]))
    Tensor([-2., -1.,  0.,  1.])
    """
    return shifted(x, axes, 1)


@of_axes
def ifftshift(x: Tensor, axes: Sizes = None) -> Tensor:
    """The inverse of fftshift.

    >>> ifftshift(Tensor([-2.0, -1.0, 0.0, 1.0]))
    Tensor([ 0.,  1., -2., -1.])
    """
    return shifted(x, axes, -1)
