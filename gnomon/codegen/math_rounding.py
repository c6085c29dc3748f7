"""Rounding, remainders and roots over an Algebra.

Letters: a the algebra, x and y its values. Remainders are exact.
"""

from __future__ import annotations

from math import inf, nan

from gnomon.codegen.algebra import Algebra, Value

STAGES = {"float": 6, "double": 4}
"""The number of quotients subtracted one after another; each removes 53 bits of the rest."""
REACH = 2.0**199
"""Quotients of doubles below it need no more."""
STEPS = [(2.0 ** (k // 2), 2.0 ** (k - k // 2)) for k in range(2046, 0, -50)]
"""Larger ones, up to 2^2098, are taken off in powers of two: 50 bits each, and what is left."""


def floor(a: Algebra, x: Value) -> Value:
    """The largest whole number that is no larger."""
    return a.floor(x)


def ceil(a: Algebra, x: Value) -> Value:
    """The smallest whole number that is no smaller."""
    return a.ceil(x)


def trunc(a: Algebra, x: Value) -> Value:
    """The whole part."""
    return a.trunc(x)


def nearest_even(a: Algebra, x: Value) -> Value:
    """The nearest whole number; halves go to the even one."""
    return a.round(x)


def rsqrt(a: Algebra, x: Value) -> Value:
    """1 / √x, both steps correctly rounded."""
    return a.div(a.const(1.0), a.sqrt(x))


def nextafter(a: Algebra, x: Value, y: Value) -> Value:
    """The number next to x on the side of y; y where they are equal."""
    zero, one, pattern = a.const(0.0), a.int_const(1), a.bits(x)
    rises = a.both(a.less(zero, x), a.less(x, y))
    falls = a.both(a.less(x, zero), a.less(y, x))
    outward, inward = a.int_add(pattern, one), a.int_sub(pattern, one)
    moved = a.select(a.either(rises, falls), a.from_bits(outward), a.from_bits(inward))
    moved = a.select(a.equal(x, zero), a.copysign(a.from_bits(one), y), moved)
    moved = a.select(a.equal(x, y), y, moved)
    either_nan = a.either(a.is_nan(x), a.is_nan(y))
    return a.select(either_nan, a.const(nan), moved)


def brought_near(a: Algebra, x: Value, y: Value) -> Value:
    """x, or its remainder by a large multiple of y if x is far beyond y."""

    def less_multiples(row: list[Value], rest: Value) -> list[Value]:
        multiple = a.mul(a.mul(y, row[0]), row[1])
        left = a.fma(a.neg(a.trunc(a.div(rest, multiple))), multiple, rest)
        left = a.select(a.less(left, a.const(0.0)), a.add(left, multiple), left)
        return [a.select(a.less(rest, multiple), rest, left)]

    far = a.both(a.less(a.scale(y, REACH), x), a.less(x, a.const(inf)))
    (found,) = a.rarely(far, lambda: a.over(STEPS, [x], less_multiples), [x])
    return found


def rest_of_division(a: Algebra, x: Value, y: Value, stages: int) -> Value:
    """The exact remainder of x by y for x ≥ 0 and y > 0, both doubles."""
    rest = brought_near(a, x, y) if stages == STAGES["double"] else x
    for _ in range(stages):
        quotient = a.trunc(a.div(rest, y))
        rest = a.fma(a.neg(quotient), y, rest)
    # a quotient just below a whole number may have been rounded up to it
    rest = a.select(a.less(rest, a.const(0.0)), a.add(rest, y), rest)
    inside = a.both(a.less(rest, y), a.less_equal(a.const(0.0), rest))
    rest = a.select(inside, rest, a.const(nan))
    endless = a.both(a.equal(y, a.const(inf)), a.less(x, a.const(inf)))
    return a.select(endless, x, rest)


def fmod(a: Algebra, x: Value, y: Value) -> Value:
    """The exact remainder with the sign of x."""
    size, divisor, stages = a.abs(x), a.abs(y), STAGES[a.scalar]
    if a.scalar == "double":
        rest = rest_of_division(a, size, divisor, stages)
    else:
        wide = a.widen(size), a.widen(divisor)
        rest = a.narrow(rest_of_division(a.wide, *wide, stages))
    return a.copysign(rest, x)


def signs_differ(a: Algebra, x: Value, y: Value) -> Value:
    """The mask of pairs of which one is below zero and the other not."""
    zero = a.const(0.0)
    negative = a.less(x, zero), a.less(y, zero)
    return a.both(a.either(*negative), a.invert(a.both(*negative)))


def turned(a: Algebra, rest: Value, y: Value) -> Value:
    """The mask of truncated remainders whose sign differs from Python's."""
    return a.both(a.invert(a.equal(rest, a.const(0.0))), signs_differ(a, rest, y))


def remainder(a: Algebra, x: Value, y: Value) -> Value:
    """The remainder with the sign of y, as Python's %."""
    rest = fmod(a, x, y)
    result = a.select(turned(a, rest, y), a.add(rest, y), rest)
    return a.select(a.equal(result, a.const(0.0)), a.copysign(result, y), result)


def floor_divide(a: Algebra, x: Value, y: Value) -> Value:
    """The quotient rounded down, as Python's //; a division by zero gives what / gives."""
    rest, plain, zero = fmod(a, x, y), a.div(x, y), a.const(0.0)
    quotient = a.div(a.sub(x, rest), y)
    quotient = a.select(turned(a, rest, y), a.shift(quotient, -1.0), quotient)
    # the division above may be off by an ulp: the whole number meant is the nearest one
    below = a.floor(quotient)
    off = a.less(a.const(0.5), a.sub(quotient, below))
    below = a.select(off, a.shift(below, 1.0), below)
    result = a.select(a.equal(quotient, zero), a.copysign(zero, plain), below)
    return a.select(a.equal(y, zero), plain, result)
