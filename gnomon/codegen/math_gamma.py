"""The logarithm of the gamma function and its derivative over an Algebra, in double.

Letters: a the algebra, x its value, w its size; t is an argument less 2. From 1 to 3 polynomials
take the zeros out; others step there, or past 8, where Stirling's series holds. Below −2 lgamma is
measured from the nearer zero of its interval, so that it is precise beside it.
"""

from __future__ import annotations

from math import inf, log, nan, pi

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.coefficients_gamma import DIGAMMA, LGAMMA, LGAMMA_BELOW, LGAMMA_ZEROS
from gnomon.codegen.math_exponentials import through_double
from gnomon.codegen.math_logarithms import log1p, natural
from gnomon.codegen.math_trigonometry import sine_and_cosine

SERIES_FROM = 8.0
"""From here on Stirling's series is used."""
LGAMMA_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
LGAMMA_SERIES += (-3617 / 122400, 43867 / 244188)
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
DIGAMMA_SERIES += (-3617 / 8160, 43867 / 14364)
DIGAMMA_ZERO = (0.46163214496836236, -1.5522348162858677e-17)
"""The u at which digamma(1 + u) is 0, in two parts."""
PI_LOW = 1.2246467991473532e-16
"""The difference of π and its nearest double."""
LOG_PI = (1.1447298858494002, 1.0265951162707826e-17)
HALF_LOG_2_PI = log(2 * pi) / 2
SECOND_ZERO = LGAMMA_ZEROS["double"][1][:2]
"""A zero of lgamma(−w), in two parts."""
FARTHEST = 25.0
"""Below −25 no double is near a zero of lgamma."""


def stepped_down(a: Algebra, x: Value) -> tuple[Value, Value, Value]:
    """x from 1 to 8, reduced below 3 by steps of 1; the steps' product, their inverses' sum."""

    def step(row: list[Value], y: Value, product: Value, total: Value) -> list[Value]:
        high = a.less_equal(a.const(3.0), y)
        lower = a.select(high, a.shift(y, -1.0), y)
        factor = a.select(high, lower, a.const(1.0))
        part = a.select(high, a.div(row[0], lower), a.const(0.0))
        return [lower, a.mul(product, factor), a.add(total, part)]

    start = [x, a.const(1.0), a.const(0.0)]
    y, product, total = a.over([[1.0]] * int(SERIES_FROM - 3), start, step)
    return y, product, total


def near_two(a: Algebra, t: Value, above: Value) -> Value:
    """lgamma(2 + t) for |t| ≤ 1; above is 1 + t to all digits."""
    return a.mul(a.mul(above, t), a.polynomial(t, LGAMMA["double"]))


def stirling(a: Algebra, x: Value, log_x: Value) -> Value:
    """lgamma for x ≥ 8."""
    inverse = a.div(a.const(1.0), x)
    tail = a.mul(inverse, a.polynomial(a.mul(inverse, inverse), LGAMMA_SERIES))
    large = a.fma(a.shift(x, -0.5), a.shift(log_x, -1.0), a.shift(tail, HALF_LOG_2_PI - 0.5))
    return a.select(a.less(a.const(2.0**60), x), a.mul(x, a.shift(log_x, -1.0)), large)


def positive_lgamma(a: Algebra, x: Value) -> Value:
    """lgamma of x ≥ 0."""
    low, far = a.less(x, a.const(1.0)), a.less_equal(a.const(SERIES_FROM), x)
    y, product, _ = stepped_down(a, a.select(far, a.const(1.0), x))
    t = a.select(low, a.shift(x, -1.0), a.shift(y, -2.0))
    near = near_two(a, t, a.select(low, x, a.shift(y, -1.0)))
    log_x = natural(a, a.select(a.either(low, far), x, product))
    near = a.add(near, a.select(low, a.neg(log_x), log_x))
    return a.select(far, stirling(a, x, log_x), near)


def half_period(a: Algebra, rest: Value) -> tuple[Value, Value]:
    """sin(π · rest) and cos(π · rest) for |rest| ≤ 1/2."""
    size = a.abs(rest)
    near = a.less_equal(size, a.const(0.25))
    angle = a.scale(a.select(near, size, a.sub(a.const(0.5), size)), pi)
    sine, cosine = sine_and_cosine(a, angle)
    whole = a.select(near, sine, cosine)
    return a.copysign(whole, rest), a.select(near, cosine, sine)


def precise_sine(a: Algebra, rest: Value) -> Value:
    """sin(π · rest) for |rest| ≤ 1/2, corrected for the rounding of the angle to a double."""
    sine, cosine = half_period(a, rest)
    angle = a.scale(rest, pi)
    more = a.fma(rest, a.const(PI_LOW), a.fma(rest, a.const(pi), a.neg(angle)))
    near = a.less_equal(a.abs(rest), a.const(0.25))
    return a.select(near, a.fma(more, cosine, sine), sine)


def from_whole(a: Algebra, w: Value) -> Value:
    """The signed distance of a number from the nearest integer."""
    return a.sub(w, a.round(w))


def mirrored_lgamma(a: Algebra, w: Value) -> Value:
    """lgamma of −w: log(π / |sin(πw)|) − lgamma(1 + w), and ∞ at whole numbers."""
    rest = from_whole(a, a.at_most(w, 2.0**53))
    sine, _ = half_period(a, rest)
    low = a.less(w, a.const(1.0))
    above = a.select(low, near_two(a, a.shift(w, -1.0), w), positive_lgamma(a, a.shift(w, 1.0)))
    plain = a.sub(a.const(LOG_PI[0]), natural(a, a.abs(sine)))
    plain = a.sub(plain, a.shift(above, -LOG_PI[1]))
    inside = a.both(a.less(a.const(2.0), w), a.less(w, a.const(FARTHEST)))
    (plain,) = a.rarely(inside, lambda: [beside_zero(a, w, rest)], [plain])
    few = a.both(a.less(a.const(1.0), w), a.less(w, a.const(4.0)))
    (plain,) = a.rarely(few, lambda: [above_four(a, w, plain)], [plain])
    whole = a.both(a.equal(rest, a.const(0.0)), a.less(w, a.const(inf)))
    return a.select(whole, a.const(inf), plain)


def above_four(a: Algebra, w: Value, beside: Value) -> Value:
    """lgamma of −w for 1 < w < 4: by a difference, a polynomial, or an expansion at the zeros.

    The difference has all digits unless it is small; few of them below 3, where both are not.
    """
    direct = stepped_up(a, w)
    d = a.shift(a.shift(w, -SECOND_ZERO[0]), -SECOND_ZERO[1])
    near = a.both(a.less_equal(a.const(-0.04), d), a.less_equal(d, a.const(0.04)))
    least = a.select(a.less(w, a.const(3.0)), a.const(1 / 16), a.const(1 / 32))
    plain = a.select(a.less(least, a.abs(direct)), direct, beside)
    return a.select(near, a.mul(d, a.polynomial(a.scale(d, 32.0), LGAMMA_BELOW["double"])), plain)


def stepped_up(a: Algebra, w: Value) -> Value:
    """lgamma of −w for 1 < w < 4, stepped up to y > 0: lgamma(1 + y) − log(y w (w − 1) …).

    All factors are exact, and their product is precise to two doubles.
    """
    y = a.sub(a.neg(a.floor(a.neg(w))), w)

    def step(row: list[Value], product: Value, rest: Value) -> list[Value]:
        factor = a.sub(w, row[0])
        factor = a.select(a.less(a.const(0.0), factor), factor, a.const(1.0))
        larger = a.mul(product, factor)
        return [larger, a.fma(rest, factor, a.fma(product, factor, a.neg(larger)))]

    product, rest = a.over([[0.0], [1.0], [2.0], [3.0]], [y, a.const(0.0)], step)
    logarithm = a.add(natural(a, product), a.div(rest, product))
    return a.sub(near_two(a, a.shift(y, -1.0), y), logarithm)


def beside_zero(a: Algebra, w: Value, rest: Value) -> Value:
    """lgamma of −w for 2 < w < 25, from the distance d to the nearer zero in its interval.

    It is the sum of the changes of log(1 / sin(πw)) and −lgamma(1 + w) from the zero, each precise.
    """
    zero, floor = a.const(0.0), a.floor(w)

    def nearer(row: list[Value], *best: Value) -> list[Value]:
        distance = a.abs(a.sub(w, row[0]))
        # the first double of a zero next to an integer equals that integer
        same = a.equal(row[3], floor)
        better = a.both(same, a.less(distance, a.abs(a.sub(w, best[0]))))
        return [a.select(better, x, y) for x, y in zip(row[:3], best, strict=True)]

    start = [a.const(1e3), zero, zero]
    high, low, cotangent = a.over(LGAMMA_ZEROS["double"], start, nearer)
    d = a.sub(a.sub(w, high), low)
    sine = precise_sine(a, a.at_most(a.at_least(d, -0.5), 0.5))
    half, _ = half_period(a, a.scale(d, 0.5))
    turned = a.fma(cotangent, sine, a.mul(a.mul(half, half), a.const(-2.0)))
    # far below 1, the ratio of the sines is known better than what it lacks
    here, _ = half_period(a, rest)
    steep = a.sqrt(a.fma(cotangent, cotangent, a.const(1.0)))
    far = natural(a, a.mul(a.abs(here), steep))
    lost = a.select(a.less(turned, a.const(-0.5)), far, log1p(a, turned))
    return a.neg(a.add(lost, gained(a, high, low, d)))


def gained(a: Algebra, high: Value, low: Value, d: Value) -> Value:
    """lgamma(1 + z + d) − lgamma(1 + z) for z = high + low, by steps down and a polynomial."""

    def step(row: list[Value], y: Value, ratio: Value) -> list[Value]:
        # past what both exceed, the two gammas lose the factors y + d and y
        more = a.less_equal(a.const(1.5), y)
        part = a.select(more, a.div(d, y), a.const(0.0))
        down = a.select(more, a.sub(y, row[0]), y)
        return [down, a.add(ratio, a.fma(ratio, part, part))]

    y, ratio = a.over([[1.0]] * int(FARTHEST), [high, a.const(0.0)], step)
    t0 = a.add(a.shift(y, -1.0), low)
    t = a.add(t0, d)
    *lower, top = (a.const(c) for c in LGAMMA["double"])
    value, slope = top, a.const(0.0)
    for coefficient in reversed(lower):
        slope = a.fma(slope, t, value)
        value = a.fma(value, t0, coefficient)
    curve = a.fma(a.mul(t, a.shift(t, 1.0)), slope, a.mul(value, a.shift(a.add(t, t0), 1.0)))
    return a.fma(d, curve, log1p(a, ratio))


@through_double
def lgamma(a: Algebra, x: Value) -> Value:
    """log |gamma(x)|."""
    w = a.abs(x)
    positive = positive_lgamma(a, w)
    negative = a.less(x, a.const(-(2.0**-60)))
    (value,) = a.rarely(negative, lambda: [mirrored_lgamma(a, w)], [positive])
    endless = a.either(a.equal(w, a.const(inf)), a.equal(w, a.const(0.0)))
    return a.select(endless, a.const(inf), value)


def digamma_near_two(a: Algebra, u: Value) -> Value:
    """digamma(1 + u) for 0 ≤ u ≤ 2."""
    away = a.shift(a.shift(u, -DIGAMMA_ZERO[0]), -DIGAMMA_ZERO[1])
    return a.mul(away, a.polynomial(a.shift(u, -1.0), DIGAMMA["double"]))


def positive_digamma(a: Algebra, x: Value) -> Value:
    """digamma of x ≥ 0."""
    low, far = a.less(x, a.const(1.0)), a.less_equal(a.const(SERIES_FROM), x)
    y, _, total = stepped_down(a, a.select(far, a.const(1.0), x))
    near = digamma_near_two(a, a.select(low, x, a.shift(y, -1.0)))
    inverse = a.div(a.const(1.0), x)
    near = a.add(near, a.select(low, a.neg(inverse), total))
    tail = a.mul(inverse, a.polynomial(a.mul(inverse, inverse), DIGAMMA_SERIES))
    large = a.sub(natural(a, x), a.mul(inverse, a.shift(tail, 0.5)))
    return a.select(far, large, near)


@through_double
def digamma(a: Algebra, x: Value) -> Value:
    """The derivative of lgamma; NaN at its poles, but ∓∞ at ±0."""
    w, negative = a.abs(x), a.less(x, a.const(0.0))

    def mirrored() -> list[Value]:
        """digamma(1 + w) + π / tan(πw)."""
        rest = from_whole(a, w)
        sine, cosine = half_period(a, rest)
        pole = a.equal(rest, a.const(0.0))
        steep = a.div(a.scale(cosine, pi), a.select(pole, a.const(nan), sine))
        # digamma(1 + w) is that of w and 1 / w more; below 1 it is the polynomial's
        above = a.add(positive_digamma(a, w), a.div(a.const(1.0), w))
        low = a.less(w, a.const(1.0))
        return [a.add(steep, a.select(low, digamma_near_two(a, w), above))]

    (value,) = a.rarely(negative, mirrored, [positive_digamma(a, w)])
    return a.select(a.equal(x, a.const(0.0)), a.copysign(a.const(inf), a.neg(x)), value)
