"""Exponentials and hyperbolic functions over an Algebra.

Letters: a the algebra, x and y its values. A power of two is applied in two steps, so that results
fade into denormals with one rounding and overflow to infinity by themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import log

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.coefficients import EXP, EXP2, EXPM1, SINH, TANH

LOG2_E = 1 / log(2)
# the first parts end in zeros, so that their products with an exponent are exact
LN2 = {
    "float": (0.693145751953125, 1.428606765330187e-06),
    "double": (0.6931471805598903, 5.497923018708371e-14),
}
# beyond these, e^x and 2^x round to 0 or to infinity
EXP_RANGE = {"float": (-104.0, 89.0), "double": (-746.0, 710.0)}
EXP2_RANGE = {"float": (-151.0, 128.0), "double": (-1076.0, 1024.0)}


def through_double(function: Callable[..., Value]) -> Callable[..., Value]:
    """Wrap a function to compute in double for all types, where speed matters less than length."""

    @wraps(function)
    def rounded_once(a: Algebra, *values: Value) -> Value:
        if a.scalar == "double":
            return function(a, *values)
        return a.narrow(function(a.wide, *map(a.widen, values)))

    return rounded_once


def power_of_two(a: Algebra, n: Value) -> Value:
    """2^n for a whole number n that is the exponent of a normal number."""
    biased = a.bits(a.shift(n, a.layout.magic + a.layout.bias))
    return a.from_bits(a.shift_left(biased, a.layout.mantissa))


def nearest(a: Algebra, x: Value, factor: float) -> Value:
    """The whole number nearest to x · factor, below 2^(mantissa − 1) in size."""
    magic = a.const(a.layout.magic)
    return a.sub(a.fma(x, a.const(factor), magic), magic)


def less_multiple(a: Algebra, x: Value, n: Value, parts: tuple[float, ...]) -> Value:
    """x − n · (the sum of the parts), the largest part first."""
    for part in parts:
        x = a.fma(n, a.const(-part), x)
    return x


def exp_parts(a: Algebra, x: Value, tail: Value | None = None) -> tuple[Value, Value]:
    """e^(x + tail) as y and s, to be multiplied as y · s · s; |tail| is below an ulp of x."""
    magic = a.const(a.layout.magic + a.layout.bias)
    shifted = a.fma(x, a.const(LOG2_E / 2), magic)
    high, low = LN2[a.scalar]
    rest = less_multiple(a, x, a.sub(shifted, magic), (2 * high, 2 * low))
    if tail is not None:
        rest = a.add(rest, tail)
    root = a.from_bits(a.shift_left(a.bits(shifted), a.layout.mantissa))
    return a.polynomial(rest, EXP[a.scalar]), root


def exp_within(a: Algebra, x: Value, tail: Value | None = None) -> Value:
    """e^(x + tail) for x in EXP_RANGE."""
    y, root = exp_parts(a, x, tail)
    return a.mul(a.mul(y, root), root)


def exp(a: Algebra, x: Value) -> Value:
    """e^x."""
    low, high = EXP_RANGE[a.scalar]
    return exp_within(a, a.at_most(a.at_least(x, low), high))


def exp2(a: Algebra, x: Value) -> Value:
    """2^x, exact for whole numbers."""
    low, high = EXP2_RANGE[a.scalar]
    x = a.at_most(a.at_least(x, low), high)
    n = nearest(a, x, 1.0)
    half = nearest(a, n, 0.5)
    y = a.polynomial(a.sub(x, n), EXP2[a.scalar])
    return a.mul(a.mul(y, power_of_two(a, half)), power_of_two(a, a.sub(n, half)))


def expm1(a: Algebra, x: Value) -> Value:
    """e^x − 1."""
    # below −40 the result is −1 in either type
    bounded = a.at_most(a.at_least(x, -40.0), EXP_RANGE[a.scalar][1])
    n = nearest(a, bounded, LOG2_E)
    rest = less_multiple(a, bounded, n, LN2[a.scalar])
    less_one = a.fma(a.mul(rest, rest), a.polynomial(rest, EXPM1[a.scalar][1:]), rest)
    # half of the result, since 2^n itself may overflow
    scale = power_of_two(a, a.shift(n, -1.0))
    half = a.fma(scale, less_one, a.shift(scale, -0.5))
    tiny = a.less(a.abs(x), a.const(2.0 ** -(a.layout.mantissa + 2)))
    return a.select(tiny, x, a.add(half, half))


def sigmoid(a: Algebra, x: Value) -> Value:
    """1 / (1 + e^−x), precise in both tails."""
    e = exp_within(a, a.at_least(a.neg(a.abs(x)), EXP_RANGE[a.scalar][0]))
    upper = a.div(a.const(1.0), a.shift(e, 1.0))
    lower = a.fma(a.neg(e), a.mul(e, upper), e)
    return a.select(a.less(x, a.const(0.0)), lower, upper)


def tanh(a: Algebra, x: Value) -> Value:
    """The hyperbolic tangent: a polynomial near 0, where 1 − 2 / (e^2x + 1) would cancel."""
    size = a.abs(x)
    if a.scalar == "double":
        t = expm1(a, a.scale(size, -2.0))
        return a.copysign(a.div(t, a.shift(t, 2.0)), x)
    z = a.mul(x, x)
    small = a.fma(a.mul(size, z), a.polynomial(z, TANH["float"][1:]), size)
    e = exp_within(a, a.at_least(a.scale(size, -2.0), EXP_RANGE["float"][0]))
    large = a.fma(a.div(e, a.shift(e, 1.0)), a.const(-2.0), a.const(1.0))
    return a.copysign(a.select(a.less(size, a.const(0.625)), small, large), x)


def half_exp(a: Algebra, x: Value) -> Value:
    """e^x / 2 for x ≥ 0; overflows only where the half does."""
    y, root = exp_parts(a, a.at_most(x, 711.0))
    return a.mul(a.mul(a.scale(y, 0.5), root), root)


@through_double
def cosh(a: Algebra, x: Value) -> Value:
    """The hyperbolic cosine."""
    half = half_exp(a, a.abs(x))
    return a.add(half, a.div(a.const(0.25), half))


@through_double
def sinh(a: Algebra, x: Value) -> Value:
    """The hyperbolic sine: a polynomial below 1, where the exponentials would cancel."""
    size = a.abs(x)
    half = half_exp(a, size)
    z = a.mul(x, x)
    small = a.fma(a.mul(size, z), a.polynomial(z, SINH[a.scalar][1:]), size)
    large = a.sub(half, a.div(a.const(0.25), half))
    return a.copysign(a.select(a.less(size, a.const(1.0)), small, large), x)
