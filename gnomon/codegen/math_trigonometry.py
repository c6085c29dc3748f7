"""Circular functions and their inverses over an Algebra.

Letters: a the algebra, x and y its values, r an angle within an eighth of a period, z its square.
Angles are reduced to full precision, beyond 2^45 by the digits of 2 / π that matter (Payne, Hanek).
"""

from __future__ import annotations

from math import pi, sqrt

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.coefficients import ASIN, ATAN, COS, SIN, TWO_OVER_PI
from gnomon.codegen.math_exponentials import less_multiple, through_double
from gnomon.codegen.pairs import fast_sum, two_sum

LARGE_ANGLE = 2.0**45
DIGITS_UP = 2.0**200
"""The factor of the digits of 2 / π, by which the last ones are normal numbers."""
ROWS = {"float": 4, "double": len(TWO_OVER_PI["double"])}
"""Type -> the number of 53-bit parts of 2 / π that an angle may need."""
# π / 2 in three doubles, and the two parts of π / 2 that results need
HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
HALF_PI = HALF_PI_PARTS[:2]
PI = (pi, 2 * HALF_PI[1])
QUARTER_PI = (pi / 4, HALF_PI[1] / 2)
TAN_EIGHTH = sqrt(2) - 1


def quadrant_of(a: Algebra, x: Value, rows: int) -> tuple[Value, Value]:
    """The angle less its nearest multiple of π / 2, and the low bits of that multiple."""
    magic = a.const(a.layout.magic)
    shifted = a.fma(x, a.const(2 / pi), magic)
    usual = less_multiple(a, x, a.sub(shifted, magic), HALF_PI_PARTS), shifted
    large = a.less(a.const(LARGE_ANGLE), a.abs(x))
    r, shifted = a.rarely(large, lambda: quadrant_of_large(a, x, rows), usual)
    return r, a.bits(shifted)


def quadrant_of_large(a: Algebra, x: Value, rows: int) -> tuple[Value, Value]:
    """Reduce a large angle like `quadrant_of`, dropping whole periods from digits of 2 / π."""
    shrunk, zero = a.scale(x, 1 / DIGITS_UP), a.const(0.0)

    def within_period(quadrants: Value) -> Value:
        return a.fma(a.round(a.scale(quadrants, 0.25)), a.const(-4.0), quadrants)

    def added(row: list[Value], high: Value, low: Value, lowest: Value) -> list[Value]:
        product = a.mul(shrunk, row[0])
        for part in (product, a.fma(shrunk, row[0], a.neg(product))):
            high, lost = two_sum(a, high, within_period(part))
            low, lost = two_sum(a, low, lost)
            lowest = a.add(lowest, lost)
        return [high, low, lowest]

    digits = [[number] for number in TWO_OVER_PI["double"][:rows]]
    high, low, lowest = a.over(digits, [zero, zero, zero], added)
    whole = a.round(high)
    high, low = two_sum(a, a.sub(high, whole), low)
    high, low = fast_sum(a, high, a.add(low, lowest))
    tail = a.fma(high, a.const(HALF_PI[1]), a.scale(low, HALF_PI[0]))
    return a.fma(high, a.const(HALF_PI[0]), tail), a.shift(whole, a.layout.magic)


def sine_and_cosine(a: Algebra, r: Value) -> tuple[Value, Value]:
    """The sine and cosine of r, for |r| ≤ π / 4."""
    z = a.mul(r, r)
    sine = a.fma(a.mul(r, z), a.polynomial(z, SIN[a.scalar][1:]), r)
    return sine, a.polynomial(z, COS[a.scalar])


def is_set(a: Algebra, i: Value, bit: int) -> Value:
    """The mask of integers that have a bit set."""
    return a.invert(a.int_compare("equal", a.int_and(i, a.int_const(bit)), a.int_const(0)))


def reduced(a: Algebra, x: Value, ahead: int) -> tuple[Value, Value, Value]:
    """The reduced angle, whether sine and cosine swap, and whether the sign changes.

    The quadrants are counted `ahead` of the angle's. The reduction is in double, whatever the type.
    """
    wide = a if a.scalar == "double" else a.wide
    r, quadrants = quadrant_of(wide, x if wide is a else a.widen(x), ROWS[a.scalar])
    quadrants = wide.int_add(quadrants, wide.int_const(ahead)) if ahead else quadrants
    other, turned = is_set(wide, quadrants, 1), is_set(wide, quadrants, 2)
    return (r if wide is a else a.narrow(r)), other, turned


def sin(a: Algebra, x: Value) -> Value:
    """The sine of an angle in radians."""
    r, other, turned = reduced(a, x, 0)
    sine, cosine = sine_and_cosine(a, r)
    result = a.select(other, cosine, sine)
    result = a.select(turned, a.neg(result), result)
    return a.select(a.equal(x, a.const(0.0)), x, result)


def cos(a: Algebra, x: Value) -> Value:
    """The cosine of an angle in radians."""
    r, other, turned = reduced(a, x, 1)
    sine, cosine = sine_and_cosine(a, r)
    result = a.select(other, cosine, sine)
    return a.select(turned, a.neg(result), result)


@through_double
def tan(a: Algebra, x: Value) -> Value:
    """The tangent of an angle in radians."""
    r, other, _ = reduced(a, x, 0)
    sine, cosine = sine_and_cosine(a, r)
    above, below = a.select(other, cosine, sine), a.select(other, a.neg(sine), cosine)
    return a.select(a.equal(x, a.const(0.0)), x, a.div(above, below))


def arcsine_part(a: Algebra, x: Value) -> tuple[Value, Value]:
    """asin(|x|) for |x| ≤ 1/2, else acos(|x|) / 2, and the mask of the latter."""
    size = a.abs(x)
    steep = a.less(a.const(0.5), size)
    z = a.select(steep, a.scale(a.sub(a.const(1.0), size), 0.5), a.mul(size, size))
    s = a.select(steep, a.sqrt(z), size)
    return a.fma(a.mul(s, z), a.polynomial(z, ASIN[a.scalar][1:]), s), steep


def complement(a: Algebra, whole: tuple[float, float], x: Value) -> Value:
    """A constant of two parts, less x."""
    return a.sub(a.const(whole[0]), a.shift(x, -whole[1]))


@through_double
def asin(a: Algebra, x: Value) -> Value:
    """The inverse sine."""
    part, steep = arcsine_part(a, x)
    return a.copysign(a.select(steep, complement(a, HALF_PI, a.add(part, part)), part), x)


@through_double
def acos(a: Algebra, x: Value) -> Value:
    """The inverse cosine."""
    part, steep = arcsine_part(a, x)
    double = a.add(part, part)
    far = a.select(a.is_negative(x), complement(a, PI, double), double)
    return a.select(steep, far, complement(a, HALF_PI, a.copysign(part, x)))


def within_eighth(a: Algebra, low: Value, high: Value) -> Value:
    """The inverse tangent of low / high, for 0 ≤ low ≤ high; π / 4 for two infinities."""
    same = a.equal(low, high)
    on_diagonal = a.both(same, a.less(a.const(0.0), low))
    steep = a.either(a.less(a.scale(high, TAN_EIGHTH), low), on_diagonal)
    t = a.div(a.select(steep, a.sub(low, high), low), a.select(steep, a.add(low, high), high))
    t = a.select(same, a.const(0.0), t)  # 0 / 0 and ∞ / ∞ too
    z = a.mul(t, t)
    part = a.fma(a.mul(t, z), a.polynomial(z, ATAN[a.scalar][1:]), t)
    return a.select(steep, a.shift(a.shift(part, QUARTER_PI[1]), QUARTER_PI[0]), part)


def upper_half(a: Algebra, y: Value, x: Value) -> Value:
    """The angle of the point (x, y) from 0 to π, for y ≥ 0."""
    behind, width = a.is_negative(x), a.abs(x)
    # sums of the two must not overflow
    far = a.less(a.const(2.0**1000), a.maximum(width, y))
    shrink = a.select(far, a.const(2.0**-100), a.const(1.0))
    width, y = a.mul(width, shrink), a.mul(y, shrink)
    above = a.less(width, y)
    angle = within_eighth(a, a.select(above, width, y), a.select(above, y, width))
    # measured from the axis ahead, above or behind, towards it or away from it
    turned = a.either(a.both(above, a.invert(behind)), a.both(behind, a.invert(above)))
    angle = a.select(turned, a.neg(angle), angle)
    none = a.const(0.0)
    whole, rest = (
        a.select(above, a.const(half), a.select(behind, a.const(full), none))
        for half, full in zip(HALF_PI, PI, strict=True)
    )
    return a.add(whole, a.add(angle, rest))


@through_double
def atan(a: Algebra, x: Value) -> Value:
    """The inverse tangent."""
    return a.copysign(upper_half(a, a.abs(x), a.const(1.0)), x)


@through_double
def atan2(a: Algebra, y: Value, x: Value) -> Value:
    """The angle of the point (x, y), from −π to π."""
    return a.copysign(upper_half(a, a.abs(y), x), y)
