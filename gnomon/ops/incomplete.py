"""The gamma function's family: polygamma, Hurwitz's zeta, incomplete gammas; and normal tails.

All functions are computed in float64 and rounded once. Sources: the Euler–Maclaurin sum of the zeta
function (DLMF 25.11.28 at https://dlmf.nist.gov), the series and the integral of the incomplete
gammas (DLMF 8.7.1, 8.2.2) with t = x · e^y, whose logarithm is concave in y.

Against mpmath, in float64, relative: zeta 2e-15, polygamma 1e-13, incomplete gammas 1e-12, the
normal distribution and its quantiles 1e-12 (tests/ops/test_incomplete.py).
"""

from __future__ import annotations

from functools import cache
from math import factorial, log, pi, sqrt

import numpy as np

from gnomon.dtypes import float64, int64
from gnomon.errors import ArgumentError
from gnomon.ir.memo import memo
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floating, sum_like
from gnomon.ops.bessel import function, polynomial, root, scaled_tail, size
from gnomon.ops.elementwise import Operand, as_floats
from gnomon.ops.primitives import unsqueeze
from gnomon.ops.reductions import sum as total
from gnomon.ops.registry import op
from gnomon.ops.scalars import trigamma, where
from gnomon.ops.special import digamma, inverse_of_tail
from gnomon.ops.special import lgamma as log_gamma

BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510),
    *(43867 / 798, -174611 / 330, 854513 / 138, -236364091 / 2730),
)
"""The Bernoulli numbers B₂, B₄, …, B₂₄."""
FIRST = 10
"""The number of terms that are added before the Euler–Maclaurin sum begins."""


def power(x: Node, y: Node) -> Node:
    """The power x^y."""
    return elementwise("pow", x, y)


def hurwitz(s: Node, a: Node) -> Node:
    """The Hurwitz zeta function Σ (a + k)^−s over all k ≥ 0, for positive a."""
    total = power(a, -s)
    for k in range(1, FIRST):
        total = total + power(a + float(k), -s)
    b = a + float(FIRST)
    last = power(b, -s)
    total = total + last * (b / (s - 1.0) + 0.5)
    term = last * s / b
    for k, number in enumerate(BERNOULLI, 1):
        total = total + term * (number / factorial(2 * k))
        term = term * (s + (2.0 * k - 1)) / b * (s + 2.0 * k) / b
    return total


def zeta_of(s: Node, q: Node) -> Node:
    """The Hurwitz zeta function of any q; for q below 0 and whole s, a sum of two functions."""
    below = elementwise("lt", q, 0.0)
    away, whole = size(q), elementwise("floor", q)
    part = where(below, away - elementwise("floor", away), 0.5)
    after = hurwitz(s, where(below, 1.0 - part, q))
    before = hurwitz(s, part) - hurwitz(s, where(below, away, 1.0) + 1.0)
    half = s * 0.5
    odd = elementwise("ne", elementwise("floor", half), half)
    made = where(below, where(odd, after - before, after + before), after)
    strange = elementwise("and", below, elementwise("ne", elementwise("floor", s), s))
    made = where(strange, float("nan"), made)
    at_pole = elementwise("and", elementwise("le", q, 0.0), elementwise("eq", whole, q))
    made = where(elementwise("or", at_pole, elementwise("eq", s, 1.0)), float("inf"), made)
    return where(elementwise("lt", s, 1.0), float("nan"), made)


def by_the_second(g: Node, second: Operand) -> tuple[None, Node | None]:
    """The gradients of two operands, of which only the second has one, as in PyTorch."""
    return None, sum_like(g, second) if isinstance(second, Node) else None


def zeta_gradient(g: Node, y: Node, s: Operand, q: Operand) -> tuple[None, Node | None]:
    """The gradient of zeta for q: −s · ζ(s + 1, q)."""
    return by_the_second(-g * s * zeta(s + 1.0, q), q)


@op(gradient=zeta_gradient, special=True, alone=True)
def zeta(x: Operand, y: Operand) -> Node:
    """Hurwitz's zeta function: Σ (y + k)^−x over all k ≥ 0.

    >>> gn.special.zeta(tensor([2.0, 4.0]), tensor([1.0, 1.0]))
    Tensor([1.6449, 1.0823])
    """
    s, q = as_floats("zeta", x, y)
    return cast(zeta_of(cast(s, float64), cast(q, float64)), s.dtype)


def polygamma_gradient(g: Node, y: Node, n: int, x: Node) -> Node:
    """The gradient of polygamma for x, by polygamma of n + 1."""
    return g * polygamma(n + 1, x)


HIGHEST = 170
"""The largest number whose factorial is a float."""


@op(gradient=polygamma_gradient, special=True)
def polygamma(n: int, x: Node) -> Node:
    """The n-th derivative of digamma.

    Shapes: x (...) -> (...)

    >>> polygamma(2, tensor([1.0]))
    Tensor([-2.4041])
    >>> polygamma(-1, tensor([1.0]))
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: polygamma: n is a whole number from 0 to 170: got -1.
    """
    if not 0 <= n <= HIGHEST:
        raise ArgumentError(f"polygamma: n is a whole number from 0 to {HIGHEST}: got {n!r}.")
    if n == 0:
        return digamma(x)
    x = floating(x)
    wide = cast(x, float64)
    if n == 1:
        return cast(trigamma(wide), x.dtype)
    scale = (-1) ** (n + 1) * float(factorial(n))
    return cast(zeta_of(wide * 0.0 + (n + 1.0), wide) * scale, x.dtype)


MOST_DIMENSIONS = 4096
"""The most dimensions of mvlgamma, which has a term for each."""


@op(special=("multigammaln",))
def mvlgamma(x: Node, p: int) -> Node:
    """The logarithm of the multivariate gamma function of dimension p.

    Shapes: x (...) -> (...)

    >>> mvlgamma(tensor([3.0]), 2)
    Tensor([1.5502])
    >>> mvlgamma(tensor([3.0]), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: mvlgamma: p is a whole number from 1 to 4096: got 0.
    """
    if not 1 <= p <= MOST_DIMENSIONS:
        raise ArgumentError(
            f"mvlgamma: p is a whole number from 1 to {MOST_DIMENSIONS}: got {p!r}."
        )
    x = floating(x)
    halves = cast(x.arena.node("iota", (), size=p, dtype=int64), x.dtype) * 0.5
    return total(log_gamma(unsqueeze(x, x.rank) - halves), -1) + p * (p - 1) / 4 * log(pi)


# incomplete gammas

SHORT = 22
"""The number of terms of the series for x up to 1."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
"""Coefficients of lgamma minus Stirling's formula, as a series in 1 / a (DLMF 5.11.1)."""
FALL = 40.0
"""Integrals end where their function has fallen to e^−FALL."""
STEPS = 12


@memo
@cache
def gauss(count: int = 40) -> list[tuple[float, float]]:
    """The positions in (0, 1) and the weights of the Gauss–Legendre rule."""
    places, shares = np.polynomial.legendre.leggauss(count)
    return [(float(p + 1) / 2, float(s) / 2) for p, s in zip(places, shares, strict=True)]


def peak(a: Node, x: Node) -> Node:
    """x^a e^−x / Γ(a): for large a by Stirling's formula, where logarithms would cancel."""
    large = elementwise("gt", a, 10.0)
    b = where(large, a, 10.0)
    away = (x - b) / b
    inverse = 1.0 / b
    rest = polynomial(inverse * inverse, list(STIRLING)) * inverse
    exact = b * (elementwise("log1p", away) - away) - rest
    c = where(large, 1.0, a)
    plain = c * elementwise("log", x) - x - log_gamma(c)
    return where(
        large,
        elementwise("exp", exact) * root(b * (1 / (2 * pi))),
        elementwise("exp", plain),
    )


def end(a: Node, x: Node, upper: Node) -> Node:
    """The y at which e^(x (1 − e^y) + a y) has fallen by FALL, by Newton's method."""
    least, side = elementwise("minimum", size(x - a), 1e300), where(upper, x * 0.0 + 1.0, -1.0)
    line = FALL / elementwise("maximum", least, 1e-300)
    bend = where(elementwise("gt", x, 3 * FALL), root(3 * FALL / x), (x + FALL) / a)
    y = elementwise("minimum", line, where(upper, root(2 * FALL / x), bend))
    for _ in range(STEPS):
        grown = elementwise("expm1", y * side)
        y = y - (x * grown - a * y * side - FALL) / (side * (x * (grown + 1.0) - a))
    return y


def long_integral(a: Node, x: Node, upper: Node) -> Node:
    """Γ(a, x), or γ(a, x), divided by x^a e^−x: for x above 1, by an integral."""
    reach, side = end(a, x, upper), where(upper, x * 0.0 + 1.0, -1.0)
    total = x * 0.0
    for place, share in gauss():
        y = reach * place * side
        total = total + elementwise("exp", a * y - x * elementwise("expm1", y)) * share
    return total * reach


def incomplete(a: Node, x: Node) -> tuple[Node, Node]:
    """The incomplete gamma functions P(a, x) and Q(a, x) = 1 − P, without cancellation."""
    good = elementwise("and", elementwise("gt", a, 0.0), elementwise("gt", x, 0.0))
    b, short = where(good, a, 1.0), elementwise("le", x, 1.0)
    z = where(elementwise("and", good, short), x, 0.5)
    rest, term = z * 0.0, z * 0.0 + 1.0
    for k in range(1, SHORT):
        term = term * z * (-1.0 / k)
        rest = rest + term * b / (b + float(k))
    start = b * elementwise("log", z) - log_gamma(b + 1.0)
    first = elementwise("exp", start)
    low, high = first * (rest + 1.0), -elementwise("expm1", start) - first * rest
    finite = elementwise("lt", x, float("inf"))
    far = where(
        elementwise("and", elementwise("and", good, finite), elementwise("gt", x, 1.0)), x, 2.0
    )
    upper = elementwise("ge", far, b)
    part = peak(b, far) * long_integral(b, far, upper)
    low = where(short, low, where(upper, 1.0 - part, part))
    high = where(short, high, where(upper, part, 1.0 - part))
    return ends(a, x, low, 0.0), ends(a, x, high, 1.0)


def ends(a: Node, x: Node, made: Node, at_zero: float) -> Node:
    """Replace the values at 0 and ∞, and those outside of the domain by NaN."""
    made = where(elementwise("eq", x, float("inf")), 1.0 - at_zero, made)
    made = where(elementwise("eq", a, 0.0), 1.0 - at_zero, made)
    made = where(elementwise("eq", x, 0.0), at_zero, made)
    both = elementwise("and", elementwise("ge", a, 0.0), elementwise("ge", x, 0.0))
    some = elementwise("or", elementwise("ne", a, 0.0), elementwise("ne", x, 0.0))
    return where(elementwise("and", both, some), made, float("nan"))


def density(name: str, g: Node, *given: Operand) -> Node:
    """The derivative of P by x, times a gradient."""
    a, x, wide_g = (cast(v, float64) for v in (*as_floats(name, *given), g))
    return cast(
        wide_g * elementwise("exp", (a - 1.0) * elementwise("log", x) - x - log_gamma(a)), g.dtype
    )


def igamma_gradient(g: Node, y: Node, a: Operand, x: Operand) -> tuple[None, Node | None]:
    """The gradients of igamma."""
    return by_the_second(density("igamma", g, a, x), x)


def igammac_gradient(g: Node, y: Node, a: Operand, x: Operand) -> tuple[None, Node | None]:
    """The gradients of igammac."""
    return by_the_second(-density("igammac", g, a, x), x)


@op(gradient=igamma_gradient, special=("gammainc",))
def igamma(x: Operand, y: Operand) -> Node:
    """The regularized lower incomplete gamma function P(x, y).

    >>> igamma(tensor([1.0, 3.0]), tensor([1.0, 2.0]))
    Tensor([0.6321, 0.3233])
    """
    a, b = as_floats("igamma", x, y)
    return cast(incomplete(cast(a, float64), cast(b, float64))[0], a.dtype)


@op(gradient=igammac_gradient, special=("gammaincc",))
def igammac(x: Operand, y: Operand) -> Node:
    """The regularized upper incomplete gamma function Q(x, y) = 1 − P(x, y).

    >>> igammac(tensor([1.0, 3.0]), tensor([1.0, 2.0]))
    Tensor([0.3679, 0.6767])
    """
    a, b = as_floats("igammac", x, y)
    return cast(incomplete(cast(a, float64), cast(b, float64))[1], a.dtype)


# the normal distribution


def ndtri_of(p: Node) -> Node:
    """The quantile of the normal distribution, by the inverse of its nearer tail."""
    half = elementwise("gt", p, 0.5)
    twice = where(half, 1.0 - p, p) * 2.0
    away = inverse_of_tail(1.0 - twice, twice) * sqrt(2)
    away = where(elementwise("eq", twice, 0.0), float("inf"), away)
    return where(half, away, -away)


def log_ndtr_of(x: Node) -> Node:
    """The logarithm of the normal distribution function; below −1, by its scaled tail."""
    below, z = elementwise("lt", x, -1.0), x * -sqrt(0.5)
    a = where(below, z, 1.0)
    far = elementwise("log", scaled_tail(a) * 0.5) - a * a
    return where(below, far, elementwise("log1p", elementwise("erfc", -z) * -0.5))


ndtr = function(
    "ndtr",
    "The share of the normal distribution below x.",
    lambda x: elementwise("erfc", x * -sqrt(0.5)) * 0.5,
    lambda y, x: elementwise("exp", x * x * -0.5) * (1 / sqrt(2 * pi)),
    "ndtr(tensor([0.0, 1.0])) -> Tensor([0.5   , 0.8413])",
    alone=True,
)
log_ndtr = function(
    "log_ndtr",
    "The logarithm of the share of the normal distribution below x.",
    log_ndtr_of,
    lambda y, x: sqrt(2 / pi) / scaled_tail(x * -sqrt(0.5)),
    "log_ndtr(tensor([0.0, -100.0])) -> Tensor([-6.9315e-01, -5.0055e+03])",
    alone=True,
)
ndtri = function(
    "ndtri",
    "The value below which a share x of the normal distribution is.",
    ndtri_of,
    lambda y, x: elementwise("exp", y * y * 0.5) * sqrt(2 * pi),
    "ndtri(tensor([0.5, 1e-10])) -> Tensor([ 0.    , -6.3613])",
    alone=True,
)
entr = function(
    "entr",
    "−x · log(x): 0 at 0, −∞ below.",
    lambda x: where(
        elementwise("gt", x, 0.0),
        -x * elementwise("log", x),
        where(elementwise("eq", x, 0.0), x, where(elementwise("isnan", x), x, -float("inf"))),
    ),
    lambda y, x: -elementwise("log", x) - 1.0,
    "entr(tensor([0.0, 0.5, -1.0])) -> Tensor([0.    , 0.3466,   -inf])",
    alone=True,
)


@op(special=True, alone=True)
def xlog1py(x: Operand, y: Operand) -> Node:
    """x · log(1 + y), 0 where x is 0 and y is not NaN.

    >>> gn.special.xlog1py(tensor([0.0, 2.0]), tensor([-1.0, 1.0]))
    Tensor([0.    , 1.3863])
    """
    x, y = as_floats("xlog1py", x, y)
    ends = elementwise("or", elementwise("le", y, -1.0), elementwise("eq", y, float("inf")))
    still = elementwise("and", elementwise("eq", x, 0.0), ends)
    return x * elementwise("log1p", where(still, 0.0, y))
