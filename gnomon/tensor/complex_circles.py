"""Circular and hyperbolic functions of complex numbers, and their inverses.

Values at infinities and NaN are those of C (ISO C, annex G). Where a part is infinite, its partner
says at most a sign; what a factor of 0 leaves of an infinite or unknown one is 0.
Source: W. Kahan, "Branch cuts for complex elementary functions" (1987).
"""

from __future__ import annotations

import math

from gnomon.dtypes import float32
from gnomon.tensor.complex_math import (
    LARGEST,
    F,
    chosen,
    complex_add,
    complex_log,
    complex_sqrt,
    complex_subtract,
    halted,
    side,
    times,
    zero_of,
)
from gnomon.tensor.complex_tensor import Complex, compose, parts
from gnomon.tensor.tensor import Tensor


def turned(x: Complex) -> Complex:
    """i · x."""
    return compose(-x.imag, x.real)


def turned_back(x: Complex) -> Complex:
    """−i · x."""
    return compose(x.imag, -x.real)


def lost(a: Tensor, b: Tensor) -> Tensor:
    """Whether a is infinite and b is not a finite angle."""
    return a.isinf() & ~b.isfinite()


def complex_sinh(x: Complex) -> Complex:
    """The hyperbolic sine."""
    a, b = parts(x)
    near, factor = halted(a, a.detach().abs(), math.log(LARGEST[a.dtype]) + math.log(2))
    angle = chosen(lost(a, b), zero_of(b), b)
    re = chosen((a == 0) & ~b.isfinite(), a, near.sinh() * angle.cos() * factor)
    im = times(factor, times(near.cosh(), angle.sin()))
    return compose(chosen(lost(a, b), math.inf, re), chosen(lost(a, b), math.nan, im))


def complex_cosh(x: Complex) -> Complex:
    """The hyperbolic cosine."""
    a, b = parts(x)
    near, factor = halted(a, a.detach().abs(), math.log(LARGEST[a.dtype]) + math.log(2))
    angle = chosen(lost(a, b), zero_of(b), b)
    im = times(factor, times(near.sinh(), angle.sin()))
    im = chosen((a == 0) & ~b.isfinite(), a * side(b.detach()), im)
    return compose(near.cosh() * angle.cos() * factor, chosen(lost(a, b), math.nan, im))


def complex_tanh(x: Complex) -> Complex:
    """The hyperbolic tangent, by powers of e that can't overflow."""
    a, b = parts(x)
    size, angle = a * side(a), chosen(lost(a, b), zero_of(b), b)
    little, wide, across = (size * -2).exp(), -(size * -2).expm1(), angle.cos()
    below = wide * wide + 4 * little * across * across
    re = side(a) * -(size * -4).expm1() / below
    im = 4 * little * angle.sin() * across / below
    return compose(chosen((a == 0) & ~b.isfinite(), a, re), chosen(a.isnan() & (b == 0), b, im))


def complex_sin(x: Complex) -> Complex:
    """The sine."""
    made = turned_back(complex_sinh(turned(x)))
    return compose(made.real, chosen(lost(x.imag, x.real), math.inf, made.imag))


def complex_cos(x: Complex) -> Complex:
    """The cosine."""
    return complex_cosh(turned(x))


def complex_tan(x: Complex) -> Complex:
    """The tangent."""
    return turned_back(complex_tanh(turned(x)))


# inverses


def mask_huge(x: Complex) -> tuple[Complex, Tensor]:
    """A number, replaced by 0 where it is huge, infinite or NaN, and the mask of that."""
    most = 2.0**60 if x.real.dtype is float32 else 2.0**500
    far = ~((x.real.detach().abs() < most) & (x.imag.detach().abs() < most))
    return compose(chosen(far, 0.0, x.real), chosen(far, 0.0, x.imag)), far


def of_either(far: Tensor, beyond: tuple[Tensor, Tensor], near: tuple[Tensor, Tensor]) -> Complex:
    """Select parts of one of two complex numbers by a mask."""
    return compose(*(chosen(far, x, y) for x, y in zip(beyond, near, strict=True)))


def right_angle(unknown: Tensor, like: Tensor) -> Tensor:
    """π / 2, or NaN."""
    return chosen(unknown, math.nan, F["full_like"](like.detach(), math.pi / 2))


def far_log(x: Complex) -> Tensor:
    """log |2x|."""
    return complex_log(x).real + math.log(2)


def complex_asinh(x: Complex) -> Complex:
    """The inverse of the hyperbolic sine."""
    (a, b), (near, far) = parts(x), mask_huge(x)
    s = complex_sqrt(complex_subtract(1.0, turned(near)))
    t = complex_sqrt(complex_add(turned(near), 1.0))
    re = (s.real * t.imag - t.real * s.imag).asinh()
    im = F["atan2"](near.imag, s.real * t.real - s.imag * t.imag)
    # of NaN and 0 the part that is 0 stays
    flat = chosen(a.isnan() & (b == 0), b, F["atan2"](b, a * side(a)))
    return of_either(far, (side(a.detach()) * far_log(x), flat), (re, im))


def complex_acos(x: Complex) -> Complex:
    """The inverse of the cosine."""
    (a, b), (near, far) = parts(x), mask_huge(x)
    s, t = complex_sqrt(complex_subtract(1.0, near)), complex_sqrt(complex_add(near, 1.0))
    re, im = 2 * F["atan2"](s.real, t.real), (t.real * s.imag - t.imag * s.real).asinh()
    angle = chosen((a == 0) & b.isnan(), math.pi / 2, F["atan2"](b * side(b), a))
    return of_either(far, (angle, -side(b.detach()) * far_log(x)), (re, im))


def complex_acosh(x: Complex) -> Complex:
    """The inverse of the hyperbolic cosine."""
    (a, b), (near, far) = parts(x), mask_huge(x)
    s, t = complex_sqrt(complex_subtract(near, 1.0)), complex_sqrt(complex_add(near, 1.0))
    re = (s.real * t.real + s.imag * t.imag).asinh()
    angle = chosen((a == 0) & b.isnan(), math.pi / 2, F["atan2"](b, a))
    return of_either(far, (far_log(x), angle), (re, 2 * F["atan2"](s.imag, t.real)))


def complex_atanh(x: Complex) -> Complex:
    """The inverse of the hyperbolic tangent."""
    (a, b), (near, far) = parts(x), mask_huge(x)
    c, d = parts(near)
    size = c * side(c)
    # beside a pole the square of the distance may be too small
    pole = (size == 1) & (d.abs() < TINY)
    below = chosen(pole, 1.0, (1 - size) * (1 - size) + d * d)
    re = (4 * size / below).log1p() * 0.25
    re = chosen(pole, 0.5 * (math.log(2) - chosen(pole, d.abs(), 1.0).log()), re)
    im = F["atan2"](2 * d, (1 - size) * (1 + size) - d * d) * 0.5
    unknown = b.isnan() | (a.isnan() & ~b.isinf())
    flat = chosen(a.isnan() & ~b.isinf(), math.nan, share(a, b))
    flat = chosen(b.isnan() & (a.isfinite() & (a != 0)), math.nan, flat)
    angle = side(b.detach()) * right_angle(unknown, b)
    return of_either(far, (flat, angle), (re * side(c), im))


TINY = 2.0**-40
"""The distance from a pole of atanh below which its real part is log(2 / distance) / 2 in
float64."""


def share(a: Tensor, b: Tensor) -> Tensor:
    """The real part of the reciprocal of a huge number: its sign if a part is infinite."""
    size = F["maximum"](a.abs(), b.abs()).detach()
    good = size.isfinite() & (size > 0) & a.isfinite() & b.isfinite()
    size = chosen(good, size, 1.0)
    c, d = (chosen(good, x, 1.0) / size for x in (a, b))
    return chosen(good, c / (c * c + d * d) / size, zero_of(a))


def complex_asin(x: Complex) -> Complex:
    """The inverse of the sine."""
    return turned_back(complex_asinh(turned(x)))


def complex_atan(x: Complex) -> Complex:
    """The inverse of the tangent."""
    return turned_back(complex_atanh(turned(x)))
