"""Special functions without a row in the scalar table: erfc, erfinv, lgamma, digamma; angles.

Each is made of what has one, by a textbook's series, fraction or iteration, good to a few units in
the last place of float64 where the value is not near a zero of the function.
"""

from __future__ import annotations

from math import lgamma as lgamma_of
from math import log, pi, sqrt

import numpy as np

from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ops.arguments import floating
from gnomon.ops.registry import op
from gnomon.ops.scalars import SCALARS, where

FRACTION_FROM, FRACTION_DEPTH = 2.0, 60
"""Beyond this, erfc is a continued fraction of this depth; below, 1 − erf loses four digits."""
SERIES_FROM = 8
"""Arguments of lgamma and digamma are raised to at least this before the series in 1 / x²."""
LGAMMA_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
WINITZKI = 0.147
"""The constant of Winitzki's approximation, from which erfinv starts: within 0.2 %."""


def slope_of_erf(x: Node) -> Node:
    """The derivative of erf."""
    return elementwise("exp", -(x * x)) * (2 / sqrt(pi))


def np_erfc(x: np.ndarray):
    """1 − erf by numpy."""
    return 1 - SCALARS["erf"].value(x)


def erfc_gradient(g: Node, y: Node, x: Node) -> Node:
    """The slope of erf, downwards."""
    return -(g * slope_of_erf(x))


@op(reference=np_erfc, gradient=erfc_gradient)
def erfc(x: Node) -> Node:
    """1 − erf(x), exact where erf is near 1.

    Shapes: x (...) -> (...)
    """
    x = floating(x)
    far = elementwise("ge", x, FRACTION_FROM)
    z = where(far, x, FRACTION_FROM)
    tail = z
    for k in range(FRACTION_DEPTH, 0, -1):
        tail = z + (k / 2) / tail
    return where(far, slope_of_erf(z) * 0.5 / tail, 1.0 - elementwise("erf", x))


def erfinv_gradient(g: Node, y: Node, x: Node) -> Node:
    """One over the slope of erf at the result."""
    return g / slope_of_erf(y)


@op(gradient=erfinv_gradient)
def erfinv(x: Node) -> Node:
    """The number whose erf is x: an approximation, and three steps of Halley's method.

    Shapes: x (...) -> (...)
    """
    size = elementwise("abs", floating(x))
    rest = elementwise("log", (1.0 - size) * (size + 1.0))
    half = rest * 0.5 + 2 / (pi * WINITZKI)
    y = elementwise("sqrt", elementwise("sqrt", half * half - rest / WINITZKI) - half)
    for _ in range(3):
        far = (1.0 - size) - erfc(y)
        away = where(elementwise("gt", size, 0.5), far, elementwise("erf", y) - size)
        step = away / slope_of_erf(y)
        y = y - step / (y * step + 1.0)
    edge = elementwise("eq", size, 1.0)
    return elementwise("copysign", where(edge, float("inf"), y), x)


def series(z: Node, factors: tuple[float, ...]) -> Node:
    """Σ factors[k] / z^(2k), the last terms first."""
    square = 1.0 / (z * z)
    total = square * factors[-1]
    for factor in reversed(factors[:-1]):
        total = (total + factor) * square
    return total


def mirrored(x: Node) -> tuple[Node, Node, Node]:
    """Whether x lies below 1/2; x or 1 − x, which does not; and that raised past SERIES_FROM."""
    below = elementwise("lt", x, 0.5)
    a = where(below, 1.0 - x, x)
    return below, a, where(elementwise("lt", a, SERIES_FROM), a + SERIES_FROM, a)


def lgamma_gradient(g: Node, y: Node, x: Node) -> Node:
    """g times digamma."""
    return g * digamma(x)


@op(reference=np.vectorize(lgamma_of, otypes=[float]), gradient=lgamma_gradient)
def lgamma(x: Node) -> Node:
    """log of |gamma(x)|, where gamma(n) is (n − 1)!.

    Shapes: x (...) -> (...)
    """
    x = floating(x)
    below, a, z = mirrored(x)
    near = elementwise("lt", a, SERIES_FROM)
    steps = where(near, a, 1.0)
    product = steps
    for k in range(1, SERIES_FROM):
        product = product * (steps + float(k))
    value = (z - 0.5) * elementwise("log", z) - z + log(2 * pi) / 2
    value = value + series(z, LGAMMA_SERIES) * z
    value = value - where(near, elementwise("log", product), 0.0)
    sine = elementwise("abs", elementwise("sin", elementwise("remainder", x, 1.0) * pi))
    return where(below, log(pi) - elementwise("log", sine) - value, value)


@op
def digamma(x: Node) -> Node:
    """The derivative of lgamma.

    Shapes: x (...) -> (...)
    """
    x = floating(x)
    below, a, z = mirrored(x)
    near = elementwise("lt", a, SERIES_FROM)
    steps, lowered = where(near, a, 1.0), None
    for k in range(SERIES_FROM):
        part = 1.0 / (steps + float(k))
        lowered = part if lowered is None else lowered + part
    value = elementwise("log", z) - 0.5 / z - series(z, DIGAMMA_SERIES)
    value = value - where(near, lowered, 0.0)
    angle = where(below, elementwise("remainder", x, 1.0) * pi, 1.0)
    return where(below, value - pi / elementwise("tan", angle), value)


@op(inline=True, reference=np.deg2rad)
def deg2rad(x: Node) -> Node:
    """Degrees as radians.

    Shapes: x (...) -> (...)
    """
    return floating(x) * (pi / 180)


@op(inline=True, reference=np.rad2deg)
def rad2deg(x: Node) -> Node:
    """Radians as degrees.

    Shapes: x (...) -> (...)
    """
    return floating(x) * (180 / pi)


@op(reference=np.sinc)
def sinc(x: Node) -> Node:
    """sin(πx) / (πx), and 1 at 0.

    Shapes: x (...) -> (...)
    """
    angle = floating(x) * pi
    still = elementwise("eq", angle, 0.0)
    safe = where(still, 1.0, angle)
    return where(still, 1.0, elementwise("sin", safe) / safe)


@op(inline=True, reference=lambda x: x == np.inf)
def isposinf(x: Node) -> Node:
    """Whether x is +∞.

    Shapes: x (...) -> (...)
    """
    return elementwise("eq", floating(x), float("inf"))


@op(inline=True, reference=lambda x: x == -np.inf)
def isneginf(x: Node) -> Node:
    """Whether x is −∞.

    Shapes: x (...) -> (...)
    """
    return elementwise("eq", floating(x), float("-inf"))
