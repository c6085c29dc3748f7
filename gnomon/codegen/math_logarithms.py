"""Logarithms, powers and inverse hyperbolic functions over an Algebra.

Letters: a the algebra, x and y its values, f a mantissa less one. A number is 2^e · (1 + f) with
√½ ≤ 1 + f < √2, so that a logarithm near 1 never cancels.
"""

from __future__ import annotations

from math import inf, log, nan

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.coefficients import EXPM1, LOG, LOG_RATIO, LOG_TAIL
from gnomon.codegen.math_exponentials import (
    LN2,
    LOG2_E,
    exp,
    nearest,
    power_of_two,
    through_double,
)
from gnomon.codegen.pairs import fast_sum, product

LOG10_2 = (0.30102999566395283, 2.8363394551044964e-14)
LOG10_E = 1 / log(10)
TWO_THIRDS = (2 / 3, 3.700743415417188e-17)
ROOT_HALF = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
"""The bits of √½."""
LARGE = 2.0**28
"""From here on x² + 1 and x² are the same in double."""


def exponent_and_mantissa(a: Algebra, x: Value) -> tuple[Value, Value]:
    """e and 1 + f of a positive normal number, both floats."""
    bias = a.layout.bias << a.layout.mantissa
    moved = a.int_add(a.bits(x), a.int_const(bias - ROOT_HALF[a.scalar]))
    # the biased exponent goes below the bits of 2^mantissa, which turns it into a float
    unit = 2.0**a.layout.mantissa
    biased = a.int_or(a.shift_right_zero(moved, a.layout.mantissa), a.bits(a.const(unit)))
    e = a.shift(a.from_bits(biased), -(unit + a.layout.bias))
    kept = a.int_and(moved, a.int_const((1 << a.layout.mantissa) - 1))
    return e, a.from_bits(a.int_add(kept, a.int_const(ROOT_HALF[a.scalar])))


def exponent_and_fraction(a: Algebra, x: Value) -> tuple[Value, Value]:
    """e and f of a positive number 2^e · (1 + f), also of a denormal one; f is near 0."""
    low = a.less(x, a.const(a.layout.smallest))
    e, mantissa = exponent_and_mantissa(a, a.select(low, a.scale(x, 2.0**a.layout.mantissa), x))
    less = a.select(low, a.const(a.layout.mantissa), a.const(0.0))
    return a.sub(e, less), a.shift(mantissa, -1.0)


def log_sum(a: Algebra, e: Value, f: Value) -> Value:
    """The sum e · log 2 + log(1 + f)."""
    high, low = (a.const(part) for part in LN2[a.scalar])
    square = a.mul(f, f)
    if a.scalar == "float":
        near = a.fma(square, a.polynomial(f, LOG["float"][1:]), f)
        return a.fma(e, high, a.fma(e, low, near))
    s = a.div(f, a.shift(f, 2.0))
    z = a.mul(s, s)
    half = a.scale(square, 0.5)
    ratio = a.fma(z, a.polynomial(z, LOG_RATIO["double"]), half)
    near = a.sub(half, a.fma(s, ratio, a.mul(e, low)))
    return a.fma(e, high, a.sub(f, near))


def log_ends(a: Algebra, x: Value, ordinary: Value) -> Value:
    """The logarithm `ordinary` where x is positive and finite; elsewhere its limit, or NaN."""
    zero = a.const(0.0)
    ends = a.select(a.equal(x, zero), a.const(-inf), a.select(a.less(x, zero), a.const(nan), x))
    inside = a.both(a.less(zero, x), a.less(x, a.const(inf)))
    return a.select(inside, ordinary, ends)


def natural(a: Algebra, x: Value) -> Value:
    """The natural logarithm."""
    return log_ends(a, x, log_sum(a, *exponent_and_fraction(a, x)))


@through_double
def log2(a: Algebra, x: Value) -> Value:
    """The logarithm to base 2, exact for powers of two."""
    e, f = exponent_and_fraction(a, x)
    near = log_sum(a, a.const(0.0), f)
    return log_ends(a, x, a.fma(near, a.const(LOG2_E), e))


@through_double
def log10(a: Algebra, x: Value) -> Value:
    """The logarithm to base 10."""
    e, f = exponent_and_fraction(a, x)
    high, low = (a.const(part) for part in LOG10_2)
    near = a.fma(e, low, a.scale(log_sum(a, a.const(0.0), f), LOG10_E))
    return log_ends(a, x, a.fma(e, high, near))


def log1p(a: Algebra, x: Value) -> Value:
    """log(1 + x): the exponent is taken from the sum, the mantissa from x itself."""
    total = a.shift(x, 1.0)
    e, _ = exponent_and_mantissa(a, total)
    # four times 2^−e, which is a normal number for every e
    scale = power_of_two(a, a.sub(a.const(2.0), e))
    f = a.fma(a.scale(x, 0.25), scale, a.shift(a.scale(scale, 0.25), -1.0))
    tiny = a.less(a.abs(x), a.const(2.0 ** -(a.layout.mantissa + 2)))
    return a.select(tiny, x, log_ends(a, total, log_sum(a, e, f)))


@through_double
def asinh(a: Algebra, x: Value) -> Value:
    """The inverse of sinh."""
    size = a.abs(x)
    large = a.less(a.const(LARGE), size)
    square = a.mul(size, size)
    root = a.sqrt(a.shift(square, 1.0))
    small = a.add(size, a.div(square, a.shift(root, 1.0)))
    result = log_of_one_plus(a, large, size, small)
    return a.copysign(result, x)


@through_double
def acosh(a: Algebra, x: Value) -> Value:
    """The inverse of cosh, for x ≥ 1."""
    t = a.shift(x, -1.0)
    small = a.add(t, a.sqrt(a.mul(t, a.shift(t, 2.0))))
    result = log_of_one_plus(a, a.less(a.const(LARGE), x), x, small)
    return a.select(a.less(x, a.const(1.0)), a.const(nan), result)


def log_of_one_plus(a: Algebra, large: Value, x: Value, small: Value) -> Value:
    """log(2x) where x is large, else log(1 + small)."""
    either = log1p(a, a.select(large, a.shift(x, -1.0), small))
    return a.add(either, a.select(large, a.const(log(2)), a.const(0.0)))


@through_double
def atanh(a: Algebra, x: Value) -> Value:
    """The inverse of tanh."""
    size = a.abs(x)
    ratio = a.div(a.add(size, size), a.sub(a.const(1.0), size))
    return a.copysign(a.scale(log1p(a, ratio), 0.5), x)


def log_pair(a: Algebra, x: Value) -> tuple[Value, Value]:
    """The logarithm of a positive finite double as a sum of two doubles, good to 2^−65."""
    e, f = exponent_and_fraction(a, x)
    below = a.shift(f, 2.0)
    below_rest = a.sub(f, a.shift(below, -2.0))
    inverse = a.div(a.const(1.0), below)
    s_high = a.mul(f, inverse)
    rest = a.fma(a.neg(s_high), below, f)
    s = s_high, a.mul(a.fma(a.neg(s_high), below_rest, rest), inverse)
    z = product(a, s, s)
    # log(1 + f) = 2s + s³ · (2/3 + z · tail)
    third = fast_sum(a, a.const(TWO_THIRDS[0]), a.mul(z[0], a.polynomial(z[0], LOG_TAIL["double"])))
    third = third[0], a.shift(third[1], TWO_THIRDS[1])
    cubic = product(a, s, product(a, z, third))
    high, low = (a.const(part) for part in LN2["double"])
    total, lost = fast_sum(a, a.mul(e, high), a.scale(s[0], 2.0))
    total, lost_too = fast_sum(a, total, cubic[0])
    small = a.fma(e, low, a.fma(a.const(2.0), s[1], a.add(cubic[1], a.add(lost, lost_too))))
    return fast_sum(a, total, small)


def exp_pair(a: Algebra, x: Value, tail: Value) -> Value:
    """e^(x + tail) in double within 0.6 ulp, so that powers of integers are exact."""
    n = nearest(a, x, LOG2_E)
    high, low = (a.const(-part) for part in LN2["double"])
    above = a.fma(n, high, x)  # exact
    rest = a.fma(n, low, above)
    lost = a.fma(n, low, a.sub(above, rest))
    rest, tail = fast_sum(a, rest, a.add(tail, lost))
    curve = a.mul(a.mul(rest, rest), a.polynomial(rest, EXPM1["double"][1:]))
    total, below = fast_sum(a, a.const(1.0), rest)
    y = a.add(total, a.add(below, a.add(curve, a.fma(tail, rest, tail))))
    half = nearest(a, n, 0.5)
    return a.mul(a.mul(y, power_of_two(a, half)), power_of_two(a, a.sub(n, half)))


def positive_power(a: Algebra, x: Value, y: Value) -> Value:
    """x^y for x ≥ 0 in double, from a logarithm of twice the precision."""
    ends = a.select(a.equal(x, a.const(0.0)), a.const(-inf), x)
    inside = a.both(a.less(a.const(0.0), x), a.less(x, a.const(inf)))
    high, low = log_pair(a, x)
    high = a.select(inside, high, ends)
    exponent = a.mul(y, high)
    tail = a.fma(y, low, a.fma(y, high, a.neg(exponent)))
    precise = a.less(a.abs(exponent), a.const(800.0))
    bounded = a.at_most(a.at_least(exponent, -746.0), 710.0)
    return exp_pair(a, bounded, a.select(precise, tail, a.const(0.0)))


def power(a: Algebra, x: Value, y: Value) -> Value:
    """x^y with the special cases of C99: x^0 and 1^y are 1, even of NaN."""
    one, size = a.const(1.0), a.abs(x)
    if a.scalar == "float":
        wide = a.wide
        exponent = wide.mul(a.widen(y), natural(wide, a.widen(size)))
        result = a.narrow(exp(wide, exponent))
    else:
        result = positive_power(a, size, y)
    result = a.select(a.both(a.equal(size, one), a.equal(y, y)), one, result)
    half = a.scale(y, 0.5)
    whole = a.equal(a.trunc(y), y)
    odd = a.both(whole, a.invert(a.equal(a.trunc(half), half)))
    result = a.select(a.both(odd, a.is_negative(x)), a.neg(result), result)
    below = a.both(a.less(x, a.const(0.0)), a.less(a.const(-inf), x))
    result = a.select(a.both(below, a.invert(whole)), a.const(nan), result)
    certain = a.either(a.equal(y, a.const(0.0)), a.equal(x, one))
    return a.select(certain, one, result)
