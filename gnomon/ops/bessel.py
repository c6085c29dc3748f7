"""Bessel functions of order 0 and 1, and erfcx: series near 0, sums over an integral elsewhere.

All functions are computed in float64 and rounded once. Series coefficients are quotients of whole
numbers. The integrals are those of Hankel's (DLMF 10.32.8, 10.9.11 and 7.7.1 at
https://dlmf.nist.gov), in v with u = v²: an even function that falls as e^(−v²) and has its nearest
singularity 2 or more away, so that a sum at steps of STEP is exact to e^(−2π · 2 / STEP), below
2^−53.

Against mpmath, in float64: I, K and erfcx are right to a relative 2e-14, J and Y to an absolute
4e-15 (tests/ops/test_bessel.py); in float32 and narrower all are the rounded exact value but for a
few.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, factorial, pi, prod, sqrt
from typing import Any

from gnomon.dtypes import float64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floating
from gnomon.ops.documentation import illustrated
from gnomon.ops.registry import Op, op
from gnomon.ops.scalars import where

EULER = 0.5772156649015329
"""Euler's constant."""
STEP, NODES = 0.31, 21
PLACES = [(k * STEP) ** 2 for k in range(NODES)]
"""The values of v² at which integrals are sampled; beyond, e^(−v²) is below 2^−53."""
SHARES = [(1 if k == 0 else 2) * STEP / sqrt(pi) * exp(-place) for k, place in enumerate(PLACES)]
"""The weight of each sample; weights add to 1."""


def polynomial(z: Node, factors: list[float]) -> Node:
    """The polynomial Σ factors[k] · z^k, by Horner's rule."""
    total = z * factors[-1] + factors[-2]
    for factor in reversed(factors[:-2]):
        total = elementwise("fma", total, z, factor)
    return total


def series(order: int, count: int, sums: bool = False, sign: int = 1) -> list[float]:
    """The factors of z^k in the ascending series of order 0 or 1, z = x²/4 (DLMF 10.25.2, 10.31).

    sums: those of the second solution, times H_k for order 0 and H_k + H_(k+1) for order 1, H_k
    being 1 + 1/2 + … + 1/k. sign is −1 for the oscillating functions.
    """
    found: list[float] = []
    for k in range(count):
        top, under = sign**k, factorial(k) * factorial(k + order)
        if sums:
            harmonic = sum(factorial(k) // j for j in range(1, k + 1))  # H_k times k!
            top *= 2 * harmonic * (k + 1) + factorial(k) if order else harmonic
            under *= factorial(k) * (k + 1 if order else 1)
        found.append(top / under)
    return found


def far_series(order: int, count: int) -> list[float]:
    """The factors of (1 / 8x)^k in the expansion for large x (DLMF 10.40.1)."""
    steps = [(2 * j - 1) ** 2 - 4 * order for j in range(1, count)]
    return [prod(steps[:k]) / factorial(k) for k in range(count)]


def size(x: Node) -> Node:
    """|x|."""
    return elementwise("abs", x)


def root(x: Node) -> Node:
    """The square root."""
    return elementwise("sqrt", x)


TINY = 1e-150
"""The argument below which a function of order 1 equals its pole in all digits."""


def vanishing(x: Node) -> Node:
    """Whether x is not negative and below TINY."""
    return elementwise("and", elementwise("ge", x, 0.0), elementwise("lt", x, TINY))


# growing


FAR, TERMS, FAR_TERMS = 25.0, 47, 26


def scaled_growing(x: Node, order: int) -> Node:
    """The modified Bessel function I, times e^(−|x|)."""
    a = size(x)
    near = elementwise("lt", a, FAR)
    b = where(near, a, FAR)
    inside = polynomial(b * b * 0.25, series(order, TERMS)) * elementwise("exp", -b)
    inside = inside * b * 0.5 if order else inside
    c = where(near, FAR, a)
    width = root(c * 2.0**-8 * (2 * pi)) * 2.0**4  # c times 2π may be too large
    outside = polynomial(0.125 / c, far_series(order, FAR_TERMS)) / width
    made = where(near, inside, outside)
    return elementwise("copysign", made, x) if order else made


def growing(x: Node, order: int) -> Node:
    """The modified Bessel function I; its exponential is applied in halves, against overflow."""
    half = elementwise("exp", size(x) * 0.5)
    return scaled_growing(x, order) * half * half


# falling


def falling(x: Node, order: int, scaled: bool) -> Node:
    """The modified Bessel function K; if `scaled`, times e^x."""
    near = elementwise("lt", x, 2.0)
    a = where(near, x, 1.0)
    z, log = a * a * 0.25, elementwise("log", a * 0.5) + EULER
    first, more = (polynomial(z, series(order, 16, sums)) for sums in (False, True))
    inside = a * 0.5 * first * log + 1.0 / a - a * 0.25 * more if order else more - log * first
    inside = where(vanishing(a), 1.0 / size(a), inside) if order else inside
    c = where(near, 2.0, x)
    total = 1.0 / c * 0.0
    for place, share in zip(PLACES, SHARES, strict=True):
        bend = root(place * 0.5 / c + 1.0)
        total = total + (bend * (2 * place * share) if order else share / bend)
    outside = total * root((pi / 2) / c)
    grown, fallen = elementwise("exp", a), elementwise("exp", -c)
    return where(
        near, inside * grown if scaled else inside, outside if scaled else outside * fallen
    )


# oscillating


def waves(x: Node, order: int) -> tuple[Node, Node]:
    """J and Y for large x: real and imaginary part of Hankel's function (DLMF 10.17.13)."""
    half = 0.5 / x
    even, odd = x * 0.0, x * 0.0
    for place, share in zip(PLACES, SHARES, strict=True):
        q = half * place
        r = root(q * q + 1.0)
        real = root(r * 0.5 + 0.5)
        imaginary = q * 0.5 / real
        weight = 2 * place * share if order else share
        even = even + (real if order else real / r) * weight
        odd = odd + (imaginary if order else -imaginary / r) * weight
    sine, cosine = elementwise("sin", x), elementwise("cos", x)
    behind, ahead = (sine + cosine), (sine - cosine)  # √2 times cos and sin of x − π/4
    c, s = (ahead, -behind) if order else (behind, ahead)
    scale = root((1 / pi) / x)
    return (even * c - odd * s) * scale, (even * s + odd * c) * scale


SERIES_END = 4.0
"""The argument below which functions are power series, and from which they are `waves`."""


def first_kind(x: Node, order: int) -> Node:
    """The Bessel function J of the first kind, even or odd as its order."""
    a = size(x)
    near = elementwise("lt", a, SERIES_END)
    b = where(near, a, 1.0)
    inside = polynomial(b * b * 0.25, series(order, 22, sign=-1))
    inside = inside * b * 0.5 if order else inside
    made = where(near, inside, waves(where(near, SERIES_END, a), order)[0])
    return where(elementwise("lt", x, 0.0), -made, made) if order else made


def second_kind(x: Node, order: int) -> Node:
    """The Bessel function Y of the second kind: −∞ at 0, NaN below."""
    near = elementwise("lt", x, SERIES_END)
    b = where(near, x, 1.0)
    z, log = b * b * 0.25, elementwise("log", b * 0.5) + EULER
    first, more = (polynomial(z, series(order, 22, sums, -1)) for sums in (False, True))
    even = (first * log - more) * 2.0
    inside = b * first * log - b * 0.5 * more - 2.0 / b if order else even
    inside = inside * (1 / pi)
    # 2 / b may be too large where its part of π is not
    inside = where(vanishing(b), (-2 / pi) / size(b), inside) if order else inside
    return where(near, inside, waves(where(near, SERIES_END, x), order)[1])


# the operations


def function(
    name: str,
    sentence: str,
    of: Callable[[Node], Node],
    slope: Callable[[Node, Node], Node],
    shows: str,
    **said: Any,
) -> Op:
    """Create an operation on floats, computed in float64; slope: derivative from (result, x)."""

    def made(x: Node) -> Node:
        x = floating(x)
        return cast(of(cast(x, float64)), x.dtype)

    def gradient(g: Node, y: Node, x: Node) -> Node:
        wide = cast(slope(cast(y, float64), cast(floating(x), float64)), y.dtype)
        return g * wide

    made.__name__ = name
    prompt = "gn.special." if said.get("alone") else ""
    made.__doc__ = illustrated(sentence, prompt + shows)
    settings: dict[str, Any] = {"special": True, **said}
    return op(made, gradient=gradient, **settings)


def quotient_or_half(y: Node, x: Node) -> Node:
    """The quotient y / x; 1/2 at 0, where both vanish."""
    still = elementwise("eq", x, 0.0)
    return where(still, 0.5, y / where(still, 1.0, x))


def sign(x: Node) -> Node:
    """The sign of x: −1, 0 or 1."""
    return elementwise("sign", x)


WORD = "The {} Bessel function of the {} kind of order {}{}."
i0 = function(
    "i0",
    WORD.format("modified", "first", 0, ""),
    lambda x: growing(x, 0),
    lambda y, x: growing(x, 1),
    "i0(tensor([0.0, 1.0])) -> Tensor([1.    , 1.2661])",
    special=("i0", "modified_bessel_i0"),
)
i0e = function(
    "i0e",
    WORD.format("modified", "first", 0, ", times e^(−|x|)"),
    lambda x: scaled_growing(x, 0),
    lambda y, x: scaled_growing(x, 1) - sign(x) * y,
    "i0e(tensor([0.0, 100.0])) -> Tensor([1.    , 0.0399])",
    alone=True,
)
i1 = function(
    "i1",
    WORD.format("modified", "first", 1, ""),
    lambda x: growing(x, 1),
    lambda y, x: growing(x, 0) - quotient_or_half(y, x),
    "i1(tensor([0.0, 1.0])) -> Tensor([0.    , 0.5652])",
    special=("i1", "modified_bessel_i1"),
    alone=True,
)
i1e = function(
    "i1e",
    WORD.format("modified", "first", 1, ", times e^(−|x|)"),
    lambda x: scaled_growing(x, 1),
    lambda y, x: scaled_growing(x, 0) - sign(x) * y - quotient_or_half(y, x),
    "i1e(tensor([0.0, 100.0])) -> Tensor([0.    , 0.0397])",
    alone=True,
)
modified_bessel_k0 = function(
    "modified_bessel_k0",
    WORD.format("modified", "second", 0, ""),
    lambda x: falling(x, 0, False),
    lambda y, x: -falling(x, 1, False),
    "modified_bessel_k0(tensor([0.0, 1.0])) -> Tensor([  inf, 0.421])",
    alone=True,
)
modified_bessel_k1 = function(
    "modified_bessel_k1",
    WORD.format("modified", "second", 1, ""),
    lambda x: falling(x, 1, False),
    lambda y, x: -falling(x, 0, False) - y / x,
    "modified_bessel_k1(tensor([0.0, 1.0])) -> Tensor([   inf, 0.6019])",
    alone=True,
)
scaled_modified_bessel_k0 = function(
    "scaled_modified_bessel_k0",
    WORD.format("modified", "second", 0, ", times e^x"),
    lambda x: falling(x, 0, True),
    lambda y, x: y - falling(x, 1, True),
    "scaled_modified_bessel_k0(tensor([100.0])) -> Tensor([0.1252])",
    alone=True,
)
scaled_modified_bessel_k1 = function(
    "scaled_modified_bessel_k1",
    WORD.format("modified", "second", 1, ", times e^x"),
    lambda x: falling(x, 1, True),
    lambda y, x: y - falling(x, 0, True) - y / x,
    "scaled_modified_bessel_k1(tensor([100.0])) -> Tensor([0.1258])",
    alone=True,
)
bessel_j0 = function(
    "bessel_j0",
    WORD.format("plain", "first", 0, ""),
    lambda x: first_kind(x, 0),
    lambda y, x: -first_kind(x, 1),
    "bessel_j0(tensor([0.0, 10.0])) -> Tensor([ 1.    , -0.2459])",
    alone=True,
)
bessel_j1 = function(
    "bessel_j1",
    WORD.format("plain", "first", 1, ""),
    lambda x: first_kind(x, 1),
    lambda y, x: first_kind(x, 0) - quotient_or_half(y, x),
    "bessel_j1(tensor([0.0, 10.0])) -> Tensor([0.    , 0.0435])",
    alone=True,
)
bessel_y0 = function(
    "bessel_y0",
    WORD.format("plain", "second", 0, ""),
    lambda x: second_kind(x, 0),
    lambda y, x: -second_kind(x, 1),
    "bessel_y0(tensor([0.0, 10.0])) -> Tensor([  -inf, 0.0557])",
    alone=True,
)
bessel_y1 = function(
    "bessel_y1",
    WORD.format("plain", "second", 1, ""),
    lambda x: second_kind(x, 1),
    lambda y, x: second_kind(x, 0) - y / x,
    "bessel_y1(tensor([0.0, 10.0])) -> Tensor([  -inf, 0.249])",
    alone=True,
)
spherical_bessel_j0 = function(
    "spherical_bessel_j0",
    "sin(x) / x, and 1 at 0.",
    lambda x: where(
        elementwise("isinf", x),
        0.0,
        where(elementwise("eq", x, 0.0), 1.0, elementwise("sin", x) / x),
    ),
    lambda y, x: where(elementwise("eq", x, 0.0), 0.0, (elementwise("cos", x) - y) / x),
    "spherical_bessel_j0(tensor([0.0, 1.0])) -> Tensor([1.    , 0.8415])",
    alone=True,
)


# the error function's tail


def scaled_tail(x: Node) -> Node:
    """e^(x²) · erfc(x): by its factors up to 2, by an integral beyond (DLMF 7.7.1)."""
    near = elementwise("lt", x, 2.0)
    a = where(near, x, 2.0)
    square = a * a
    rest = elementwise("fma", a, a, -square)
    inside = elementwise("exp", square) * elementwise("erfc", a)
    c = where(near, 2.0, x)
    inverse = 1.0 / c
    total = inverse * 0.0
    for place, share in zip(PLACES, SHARES, strict=True):
        total = total + share / (inverse * inverse * place + 1.0)
    endless = elementwise("isinf", inside)
    inside = where(endless, inside, inside + inside * where(endless, 0.0, rest))
    return where(near, inside, total * inverse * (1 / sqrt(pi)))


erfcx = function(
    "erfcx",
    "e^(x²) · erfc(x), where its factors leave the range of floats.",
    scaled_tail,
    lambda y, x: x * y * 2.0 - 2 / sqrt(pi),
    "erfcx(tensor([0.0, 100.0])) -> Tensor([1.    , 0.0056])",
    alone=True,
)
