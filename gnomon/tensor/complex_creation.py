"""gn.complex, gn.polar, and the parts of complex tensors as functions."""

from __future__ import annotations

from gnomon.dtypes import float32, float64
from gnomon.errors import ArgumentError, DtypeError
from gnomon.tensor.complex_math import polar as of_angle
from gnomon.tensor.complex_tensor import Complex, compose, seen
from gnomon.tensor.tensor import Tensor


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of these parts.

    Shapes: real (*s), imag (*s) -> (*s)

    >>> import gnomon as gn
    >>> complex(gn.tensor([1.0]), gn.tensor([2.0]))
    Tensor([1.+2.j])
    """
    check_parts("complex", real, imag)
    return compose(real, imag)


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of these sizes and angles.

    Shapes: abs (*s), angle (*s) -> (*s)

    >>> import gnomon as gn
    >>> polar(gn.tensor([2.0]), gn.tensor([0.0]))
    Tensor([2.+0.j])
    """
    check_parts("polar", abs, angle)
    return of_angle(abs, angle)


def check_parts(name: str, x: Tensor, y: Tensor) -> None:
    """Refuse real and imaginary parts that are not floats of one dtype."""
    if x.dtype is not y.dtype or not x.dtype.is_floating_point or x.dtype.bits < 32:
        raise DtypeError(
            f"{name}: both parts are float32, or both float64: got {x.dtype.name} and "
            f"{y.dtype.name}. Cast them first."
        )


def imag(input: Tensor) -> Tensor:
    """The imaginary parts of complex numbers: a view.

    >>> import gnomon as gn
    >>> imag(gn.tensor([1 + 2j]))
    Tensor([2.])
    """
    return input.imag


def view_as_real(input: Tensor) -> Tensor:
    """Complex numbers as pairs of numbers in a last axis: a view.

    Shapes: input (*s) -> (*s, 2)

    >>> import gnomon as gn
    >>> view_as_real(gn.tensor([1 + 2j]))
    Tensor([[1., 2.]])
    """
    if not isinstance(input, Complex):
        raise DtypeError(f"view_as_real: needs complex numbers: got {input.dtype.name}.")
    return seen(input._pair, ())


def view_as_complex(input: Tensor) -> Complex:
    """Pairs of numbers in the last axis as complex numbers: a view.

    Shapes: input (*s, 2) -> (*s)

    >>> import gnomon as gn
    >>> view_as_complex(gn.tensor([[1.0, 2.0]]))
    Tensor([1.+2.j])
    """
    if not input.ndim or input.shape[-1] != 2 or input.dtype not in (float32, float64):
        raise ArgumentError(
            f"view_as_complex: needs a last axis of 2 of float32 or float64: got "
            f"{tuple(input.shape)} of {input.dtype.name}."
        )
    return Complex((seen(input, ()),))
