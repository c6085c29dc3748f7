"""Random numbers by rejection: gamma, Poisson, binomial and von Mises.

Every element makes a fixed number of proposals and takes the first accepted one, or the first if
all failed: a draw is then a function of the key and of the element's position alone, whatever the
layout. The probability of failure, below 1e-7, is given at each.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gnomon.dtypes import float64, int64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floats_only
from gnomon.ops.primitives import unsqueeze
from gnomon.ops.random import fold_in, random_normal, random_uniform
from gnomon.ops.reductions import argmax, pick
from gnomon.ops.reductions import sum as sum_of
from gnomon.ops.registry import op
from gnomon.ops.scalars import where

OfNode = Callable[[Node], Node]
TRIES = 6
"""The number of proposals of a gamma number; each is accepted with probability above 0.95."""
POINTS = 64
LOW, HIGH = -3.5, 4.0
"""The interval of the quadrature for the gradient of gamma numbers; the error is below 1e-7."""
TERMS = 15
"""The number of terms of the series for gamma numbers below 1."""
COUNTS = 44
"""The bound of counts of a mean below 10, with probability 1 − 1e-14."""
FEW = 10.0
"""The mean below which counts come from cumulative probabilities, and from rejection above."""
ANGLE_TRIES = 20
"""The number of proposals of an angle; each is accepted with probability above 0.65."""
COUNT_TRIES = 12
"""The number of proposals of a count; each is accepted with probability above 0.75."""


def shares(key: Node, number: int, shape: tuple[int, ...]) -> Node:
    """Uniform draws in (0, 1], by a key derived from a number."""
    return 1.0 - random_uniform(fold_in(key, number), shape, dtype=float64)


def log(x: Node) -> Node:
    """The natural logarithm of x."""
    return elementwise("log", x)


def first(accepted: Node, x: Node) -> Node:
    """The first accepted proposal along the last axis; the very first if none was accepted."""
    return pick(x, argmax(cast(accepted, int64), -1), -1)


def gamma_gradient(g: Node, y: Node, key: Node, alpha: Node) -> tuple[None, Node]:
    """The gradient of a gamma draw for alpha, as a quantile's (Figurnov and others 2018)."""
    slope = slope_of_gamma(cast(alpha, float64), cast(y, float64))
    return None, g * cast(slope, g.dtype)


def slope_of_gamma(a: Node, x: Node) -> Node:
    """The derivative −(∂P / ∂a) / (∂P / ∂x) of the regularized gamma function P(a, x)."""
    small = elementwise("lt", x, 1.0)
    near = by_series(a, elementwise("minimum", x, 1.0))
    return where(small, near, by_quadrature(a, where(small, 1.0, x)))


def by_series(a: Node, x: Node) -> Node:
    """The derivative by the power series of P, for x below 1."""
    wide_a, wide_x = unsqueeze(a, a.rank), unsqueeze(x, x.rank)
    step = cast(a.arena.node("iota", (), size=TERMS, dtype=int64), float64) + 1.0
    above = wide_a + step
    size = log(wide_x) * step + elementwise("lgamma", wide_a) - elementwise("lgamma", above)
    terms = elementwise("exp", size) * (log(wide_x) - elementwise("digamma", above))
    return -sum_of(terms, -1)


def by_quadrature(a: Node, x: Node) -> Node:
    """The derivative by an integral over the tail on the side of x, where its integrand decreases.

    The points are dense near x and few far away (Takahasi and Mori 1974).
    """
    spacing = (HIGH - LOW) / (POINTS - 1)
    place = cast(a.arena.node("iota", (), size=POINTS, dtype=int64), float64) * spacing + LOW
    slowing = elementwise("exp", -place)
    point = elementwise("exp", place - slowing)
    weight = point * (slowing + 1.0) * spacing
    far = elementwise("abs", x - a)
    reach = 2.0 / (far + elementwise("sqrt", far * far + x * 4.0))
    side = where(elementwise("lt", x, a), -1.0, cast(x * 0.0 + 1.0, float64))
    wide_a, wide_x, wide_side, wide_reach = (unsqueeze(v, v.rank) for v in (a, x, side, reach))
    away = wide_side * (wide_reach * point)
    size = wide_a * away - wide_x * elementwise("expm1", away)
    rest = log(wide_x) + away - elementwise("digamma", wide_a)
    return side * x * reach * sum_of(elementwise("exp", size) * rest * weight, -1)


@op(gradient=gamma_gradient)
def random_gamma(key: Node, alpha: Node) -> Node:
    """Samples of the gamma distribution with rate 1 (Marsaglia and Tsang 2000).

    Shapes: key (2), alpha (*s) -> (*s)

    Gradients flow to alpha. The probability that all proposals of an element fail is below 1e-7.

    >>> random_gamma(tensor([0, 1], dtype="uint32"), tensor([0.5, 20.0]))
    Tensor([ 1.3066, 20.0795])
    """
    floats_only("random_gamma", alpha)
    a = cast(alpha, float64)
    small = elementwise("lt", a, 1.0)
    raised = where(small, a + 1.0, a) - 1 / 3
    d = unsqueeze(raised, a.rank)
    shape = (*a.shape, TRIES)
    x = random_normal(fold_in(key, 1), shape, dtype=float64)
    cube = 1.0 + x / elementwise("sqrt", d * 9.0)
    v = cube * cube * cube
    positive = elementwise("gt", v, 0.0)
    v = where(positive, v, 1.0)
    bound = x * x * 0.5 + d * (1.0 - v + log(v))
    below = elementwise("lt", log(shares(key, 2, shape)), bound)
    drawn = raised * first(elementwise("and", positive, below), v)
    # of alpha + 1, times a power of a uniform number, where alpha is below 1
    lowered = drawn * elementwise("exp", log(shares(key, 3, a.shape)) / where(small, a, 1.0))
    return cast(where(small, lowered, drawn), alpha.dtype)


def by_chances(key: Node, first_chance: Node, ratio: Callable[[int], Node]) -> Node:
    """A count from probabilities: each is ratio(k) times the one before."""
    share = 1.0 - shares(key, 1, first_chance.shape)
    chance = total = first_chance
    count = cast(elementwise("ge", share, total), float64)
    for k in range(1, COUNTS):
        chance = chance * ratio(k)
        total = total + chance
        count = count + cast(elementwise("ge", share, total), float64)
    return count


def by_hat(key: Node, hat: tuple[Node, Node, Node, Node], log_chance: OfNode) -> Node:
    """A count by Hörmann's transformed rejection: (a, b) shape its hat around a middle."""
    a, b, middle, scale = (unsqueeze(v, v.rank) for v in hat)
    shape = (*hat[0].shape, COUNT_TRIES)
    u = random_uniform(fold_in(key, 2), shape, dtype=float64) - 0.5
    rest = 0.5 - elementwise("abs", u)
    rest = elementwise("maximum", rest, 2.0**-53)
    k = elementwise("floor", (a * 2.0 / rest + b) * u + middle)
    height = log(shares(key, 3, shape) * scale / (a / (rest * rest) + b))
    inside = elementwise("ge", k, 0.0)
    k = where(inside, k, 0.0)
    return first(elementwise("and", inside, elementwise("le", height, log_chance(k))), k)


def log_factorial(k: Node) -> Node:
    """The logarithm of k!, by Stirling's series of k + 8.

    Its code is a tenth of lgamma's, which handles negative numbers too.
    """
    rest = k + 1.0
    for step in range(2, 9):
        rest = rest * (k + float(step))
    z = k + 9.0
    turned = 1.0 / (z * z)
    series = ((turned * (-1 / 1680) + 1 / 1260) * turned - 1 / 360) * turned + 1 / 12
    return (z - 0.5) * log(z) - z + series / z + (0.5 * math.log(2 * math.pi)) - log(rest)


@op
def random_poisson(key: Node, rate: Node) -> Node:
    """Samples of the Poisson distribution with the given rate (Hörmann 1993).

    Shapes: key (2), rate (*s) -> (*s)

    >>> random_poisson(tensor([0, 1], dtype="uint32"), tensor([0.0, 4.0, 400.0]))
    Tensor([  0.,   1., 379.])
    """
    floats_only("random_poisson", rate)
    mean = cast(rate, float64)
    few = elementwise("lt", mean, FEW)
    low, high = where(few, mean, 0.0), where(few, FEW, mean)
    b = elementwise("sqrt", high) * 2.53 + 0.931
    scale = 1.1239 + 1.1328 / (b - 3.4)
    wide = unsqueeze(high, high.rank)
    drawn = by_hat(
        key,
        (b * 0.02483 - 0.059, b, high + 0.43, scale),
        lambda k: k * log(wide) - wide - log_factorial(k),
    )
    counted = by_chances(key, elementwise("exp", -low), lambda k: low / float(k))
    return cast(where(few, counted, drawn), rate.dtype)


@op
def random_binomial(key: Node, count: Node, p: Node) -> Node:
    """Samples of the binomial distribution: successes among count trials (Hörmann 1993).

    Shapes: key (2), count (*s), p (*s) -> (*s)

    >>> random_binomial(tensor([0, 1], dtype="uint32"), tensor([5.0, 400.0]), tensor([1.0, 0.5]))
    Tensor([  5., 203.])
    """
    floats_only("random_binomial", p)
    n, chance = cast(count, float64), cast(p, float64)
    swapped = elementwise("gt", chance, 0.5)
    q = where(swapped, 1.0 - chance, chance)
    few = elementwise("lt", n * q, FEW)
    low, odds = where(few, q, 0.0), where(few, q / (1.0 - q), 0.0)
    start = elementwise("exp", n * elementwise("log1p", -low))
    counted = by_chances(key, start, lambda k: odds * (n + (1.0 - k)) / float(k))
    drawn = many_successes(key, where(few, 4 * FEW, n), where(few, 0.5, q))
    found = where(few, counted, drawn)
    return cast(where(swapped, n - found, found), p.dtype)


def many_successes(key: Node, n: Node, p: Node) -> Node:
    """The number of successes, for at least ten expected ones and p of at most a half."""
    spread = elementwise("sqrt", n * p * (1.0 - p))
    b = spread * 2.53 + 1.15
    a = b * 0.0248 + p * 0.01 - 0.0873
    scale = (2.83 + 5.1 / b) * spread
    wide_n, odds = unsqueeze(n, n.rank), unsqueeze(log(p / (1.0 - p)), n.rank)
    middle = elementwise("floor", (wide_n + 1.0) * unsqueeze(p, p.rank))

    def size(k: Node) -> Node:
        inside = elementwise("minimum", k, wide_n)
        return inside * odds - log_factorial(inside) - log_factorial(wide_n - inside)

    def log_chance(k: Node) -> Node:
        return where(elementwise("gt", k, wide_n), -math.inf, size(k) - size(middle))

    return by_hat(key, (a, b, n * p + 0.5, scale), log_chance)


@op
def random_von_mises(key: Node, concentration: Node) -> Node:
    """Samples of the von Mises distribution around angle 0 (Best and Fisher 1979).

    Shapes: key (2), concentration (*s) -> (*s)

    >>> random_von_mises(tensor([0, 1], dtype="uint32"), tensor([0.0, 50.0]))
    Tensor([0.8258, 0.1828])
    """
    floats_only("random_von_mises", concentration)
    # below, the proposals are of a circle without a preferred side
    k = elementwise("maximum", cast(concentration, float64), 1e-6)
    t = 1.0 + elementwise("sqrt", k * k * 4.0 + 1.0)
    rho = (t - elementwise("sqrt", t * 2.0)) / (k * 2.0)
    s = (1.0 + rho * rho) / (rho * 2.0)
    wide_k, wide_s = unsqueeze(k, k.rank), unsqueeze(s, s.rank)
    shape = (*k.shape, ANGLE_TRIES)
    z = elementwise("cos", shares(key, 1, shape) * math.pi)
    cosine = (wide_s * z + 1.0) / (wide_s + z)
    c = wide_k * (wide_s - cosine)
    bound = log(c) - c + 1.0
    taken = elementwise("le", log(shares(key, 2, shape)), bound)
    inside = elementwise("minimum", elementwise("maximum", first(taken, cosine), -1.0), 1.0)
    angle = elementwise("acos", inside)
    negative = elementwise("lt", shares(key, 3, k.shape), 0.5)
    return cast(where(negative, -angle, angle), concentration.dtype)
