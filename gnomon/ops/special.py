"""Special functions: erfc, erfinv, lgamma, digamma, tanhshrink; angles.

Functions without a row in the scalar table are composed of others (docs/accuracy.md states their
accuracy).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, pi, sqrt

import numpy as np

from gnomon.dtypes import float64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floating, in_float
from gnomon.ops.registry import op
from gnomon.ops.scalars import SCALARS, where

WINITZKI = 0.147
"""The constant of Winitzki's approximation, the start of erfinv, which errs by up to 0.2 %."""


def slope_of_erf(x: Node) -> Node:
    """The derivative of erf."""
    return elementwise("exp", -(x * x)) * (2 / sqrt(pi))


@op(reference=SCALARS["erfc"].value, special=True)
def erfc(x: Node) -> Node:
    """1 − erf(x), accurate where erf(x) is near 1.

    Shapes: x (...) -> (...)

    >>> erfc(tensor([0.0, 3.0]))
    Tensor([1.000e+00, 2.209e-05])
    """
    return elementwise("erfc", floating(x))


def erfinv_gradient(g: Node, y: Node, x: Node) -> Node:
    """The gradient of erfinv: 1 / erf' at the result."""
    return g / slope_of_erf(y)


@op(gradient=erfinv_gradient, special=True)
def erfinv(x: Node) -> Node:
    """The inverse of erf, by an approximation and three steps of Halley's method.

    Shapes: x (...) -> (...)

    >>> erf(erfinv(tensor([0.5])))
    Tensor([0.5])
    """
    return in_float(inverse_of_erf, floating(x))


def inverse_of_erf(x: Node) -> Node:
    """The inverse of erf: that of the absolute value, with the sign of x."""
    size = elementwise("abs", x)
    return elementwise("copysign", inverse_of_tail(size, 1.0 - size), x)


def inverse_of_tail(size: Node, tail: Node) -> Node:
    """The inverse of erf of a size, and of erfc of the tail 1 - size, by three steps."""
    rest = elementwise("log", tail * (size + 1.0))
    half = rest * 0.5 + 2 / (pi * WINITZKI)
    y = elementwise("sqrt", elementwise("sqrt", half * half - rest / WINITZKI) - half)
    for _ in range(3):
        far = tail - erfc(y)
        away = where(elementwise("gt", size, 0.5), far, elementwise("erf", y) - size)
        step = away / slope_of_erf(y)
        y = y - step / (y * step + 1.0)
    return where(elementwise("eq", tail, 0.0), float("inf"), y)


@op(reference=SCALARS["lgamma"].value, special=("gammaln",))
def lgamma(x: Node) -> Node:
    """log of |gamma(x)|, where gamma(n) is (n − 1)!.

    Shapes: x (...) -> (...)

    >>> exp(lgamma(tensor([5.0])))
    Tensor([24.])
    """
    return elementwise("lgamma", floating(x))


@op(reference=SCALARS["digamma"].value, special=("digamma", "psi"))
def digamma(x: Node) -> Node:
    """The derivative of lgamma.

    Shapes: x (...) -> (...)

    >>> digamma(tensor([1.0]))
    Tensor([-0.5772])
    """
    return elementwise("digamma", floating(x))


TANHSHRINK_TERMS = 15


def series(z: Node, factors: Sequence[float]) -> Node:
    """The polynomial Σ factors[k] · z^k, by Horner's rule."""
    total = z * factors[-1]
    for factor in reversed(factors[1:-1]):
        total = (total + factor) * z
    return total + factors[0]


@op(reference=lambda x: x - np.tanh(x), functional=True)
def tanhshrink(x: Node) -> Node:
    """x − tanh(x).

    Shapes: x (...) -> (...)

    >>> tanhshrink(tensor([-2.0, 0.0, 2.0]))
    Tensor([-1.036,  0.   ,  1.036])
    """

    def of(x: Node) -> Node:
        # below 2: (x · cosh(x) − sinh(x)) / cosh(x), whose series has no term below 0
        near = elementwise("lt", elementwise("abs", x), 2.0)
        z = where(near, x, 0.0)
        z = z * z
        above = series(z, [6 * k / factorial(2 * k + 1) for k in range(2, TANHSHRINK_TERMS)])
        below = series(z, [3 / factorial(2 * k) for k in range(TANHSHRINK_TERMS)])
        share = elementwise("fma", z, z * above, z) / below
        return where(near, x * share, x - elementwise("tanh", x))

    return cast(of(cast(floating(x), float64)), floating(x).dtype)


@op(inline=True, reference=np.deg2rad)
def deg2rad(x: Node) -> Node:
    """Convert degrees to radians.

    Shapes: x (...) -> (...)

    >>> deg2rad(tensor([180.0]))
    Tensor([3.1416])
    """
    return floating(x) * (pi / 180)


@op(inline=True, reference=np.rad2deg)
def rad2deg(x: Node) -> Node:
    """Convert radians to degrees.

    Shapes: x (...) -> (...)

    >>> rad2deg(tensor([3.1415927]))
    Tensor([180.])
    """
    return floating(x) * (180 / pi)


@op(reference=np.sinc, special=True)
def sinc(x: Node) -> Node:
    """sin(πx) / (πx), and 1 at 0.

    Shapes: x (...) -> (...)

    >>> sinc(tensor([0.0, 0.5]))
    Tensor([1.    , 0.6366])
    """
    return in_float(sine_over_angle, floating(x))


def sine_over_angle(x: Node) -> Node:
    """The function sin(πx) / (πx)."""
    whole = elementwise("round", x)
    half = whole * 0.5
    # a half turn more changes the sign; taken off first, so that no digit of the rest is lost
    odd = elementwise("ne", elementwise("trunc", half), half)
    rest = elementwise("sin", (x - whole) * pi)
    still = elementwise("eq", x, 0.0)
    return where(still, 1.0, where(odd, -rest, rest) / (where(still, 1.0, x) * pi))


@op(inline=True, reference=lambda x: x == np.inf)
def isposinf(x: Node) -> Node:
    """Whether x is +∞.

    Shapes: x (...) -> (...)

    >>> isposinf(tensor([inf, -inf]))
    Tensor([ True, False])
    """
    return elementwise("eq", floating(x), float("inf"))


@op(inline=True, reference=lambda x: x == -np.inf)
def isneginf(x: Node) -> Node:
    """Whether x is −∞.

    Shapes: x (...) -> (...)

    >>> isneginf(tensor([inf, -inf]))
    Tensor([False,  True])
    """
    return elementwise("eq", floating(x), float("-inf"))
