"""Functions of complex numbers, each as real functions of the real and the imaginary part.

Sources: W. Kahan, "Branch cuts for complex elementary functions" (1987), for roots and inverse
functions. A branch that is not taken has a finite value, so that no NaN comes into gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gnomon.dtypes import complex64, complex128, float32, float64, promote
from gnomon.errors import ComplexError
from gnomon.tensor.complex_tensor import Complex, as_complex, compose, parts
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor

F = FUNCTIONS
LARGEST = {kind: float(np.finfo(kind.numpy).max) for kind in (float32, float64)}


def chosen(condition: Tensor, x: Any, y: Any) -> Tensor:
    """x or y, element by element."""
    return F["where"](condition, x, y)


# arithmetic


def plus(x: Any, y: Any) -> Any:
    """The sum of two parts, each of which may be None for 0."""
    return y if x is None else x if y is None else x + y


def times_alpha(y: Any, alpha: Any) -> Any:
    """y · alpha, a number if both are."""
    return y if alpha == 1 else y * alpha


def complex_add(x: Any, y: Any, alpha: Any = 1) -> Complex:
    """x + y."""
    (a, b), (c, d) = parts(x), parts(times_alpha(y, alpha))
    return compose(a + c, plus(b, d))


def complex_subtract(x: Any, y: Any, alpha: Any = 1) -> Complex:
    """x − y."""
    (a, b), (c, d) = parts(x), parts(times_alpha(y, alpha))
    return compose(a - c, b if d is None else -d if b is None else b - d)


def complex_multiply(x: Any, y: Any) -> Any:
    """x · y."""
    (a, b), (c, d) = parts(x), parts(y)
    if b is None and d is None:
        return a * c
    if b is None:
        a, b, c, d = c, d, a, b
    return compose(a * c, b * c) if d is None else compose(a * c - b * d, a * d + b * c)


def complex_divide(x: Any, y: Any, rounding_mode: str | None = None) -> Complex:
    """x / y, scaled by the larger part of y so that no square overflows."""
    if rounding_mode is not None:
        raise ComplexError(
            "divide: rounding_mode has no meaning for complex numbers. Leave it out."
        )
    (a, b), (c, d) = parts(x), parts(y)
    if d is None:
        return compose(a / c, b / c)
    if isinstance(y, complex):
        if y == 0:
            return compose(a * math.inf, a * math.nan if b is None else b * math.inf)
        scale = max(abs(c), abs(d))
        return quotient(a, b, c / scale, d / scale, scale)
    scale = F["maximum"](c.detach().abs(), d.detach().abs())
    nothing = scale == 0
    made = quotient(
        a, b, chosen(nothing, 1.0, shared(c, d, scale)), shared(d, c, scale), scale + nothing
    )
    # parts over 0 are infinite, or NaN where they are 0 too
    over = [
        x.detach() * math.inf if isinstance(x, Tensor) else (x or math.nan) * math.inf
        for x in (a, b)
    ]
    return compose(chosen(nothing, over[0], made.real), chosen(nothing, over[1], made.imag))


def quotient(a: Any, b: Any, c: Any, d: Any, scale: Any) -> Complex:
    """(a + ib) / ((c + id) · scale), where c or d is ±1; b may be None."""
    size = (c * c + d * d) * scale
    if b is None:
        return compose(a * c / size, -(a * d) / size)
    return compose((a * c + b * d) / size, (b * c - a * d) / size)


def shared(x: Tensor, y: Tensor, scale: Tensor) -> Tensor:
    """x / scale for scale = max(|x|, |y|): ±1 or ±0 if it is infinite, NaN if x and y are."""
    endless = scale.isinf()
    share = chosen(x.isinf() & y.isinf(), math.nan, side(x) * x.isinf())
    return chosen(endless, share, x / chosen(endless | (scale == 0), 1.0, scale))


def complex_reciprocal(x: Complex) -> Complex:
    """1 / x."""
    return complex_divide(1.0, x)


def opposite(x: Complex) -> Complex:
    """−x."""
    return compose(-x.real, -x.imag)


def conj(x: Complex) -> Complex:
    """The number with the opposite imaginary part."""
    return compose(x.real, -x.imag)


def complex_square(x: Complex) -> Complex:
    """x · x."""
    return complex_multiply(x, x)


def at_zero(x: Complex) -> Tensor:
    """Whether both parts are 0."""
    return (x.real == 0) & (x.imag == 0)


def complex_abs(x: Complex) -> Tensor:
    """The distance from 0, whose gradient there is 0."""
    none = at_zero(x)
    return chosen(none, 0.0, F["hypot"](chosen(none, 1.0, x.real), x.imag))


def angle(x: Complex) -> Tensor:
    """The angle from the real axis; no gradient passes 0."""
    none = at_zero(x)
    there = F["atan2"](chosen(none, 0.0, x.imag), chosen(none, 1.0, x.real))
    return chosen(none, F["atan2"](x.imag.detach(), x.real.detach()), there)


def complex_sign(x: Complex) -> Complex:
    """The number of size 1 in the same direction, 0 at 0."""
    none, x = at_zero(x), smaller(x)[0]
    x = compose(chosen(none, 0.0, x.real), chosen(none, 0.0, x.imag))
    return complex_divide(x, chosen(none, 1.0, complex_abs(x)))


def smaller(x: Complex) -> tuple[Complex, Tensor]:
    """A number scaled so that no sum of squares overflows, and whether it is scaled by 1/16."""
    large = F["maximum"](x.real.detach().abs(), x.imag.detach().abs()) > LARGEST[x.real.dtype] / 16
    scale = chosen(large, 1 / 16, 1.0).to(x.real.dtype)
    return compose(x.real * scale, x.imag * scale), large


# powers


def complex_exp(x: Complex) -> Complex:
    """e to the power of x."""
    (a, b), endless = parts(x), x.real.isinf() & ~x.imag.isfinite()
    a, factor = halted(a, a.detach(), math.log(LARGEST[a.dtype]))
    # of an infinite size the angle tells nothing but for its sign, and not even that above
    made = polar(a.exp(), chosen(endless, zero_of(b), b))
    im = chosen(endless & (a > 0), math.nan, made.imag)
    return compose(made.real * factor, times(factor, im))


def zero_of(x: Tensor) -> Tensor:
    """0 with the sign of x."""
    return side(x.detach()) * 0.0


def halted(a: Tensor, size: Tensor, most: float) -> tuple[Tensor, Tensor]:
    """a, brought nearer to 0 if e^|a| would overflow, and the remaining factor."""
    over = size > most
    factor = chosen(over, F["full_like"](size, math.exp(64)), 1.0)
    return a - chosen(over, side(a.detach()) * 64.0, 0.0), factor


def polar(size: Tensor, angle: Tensor) -> Complex:
    """The number of a size and an angle."""
    return compose(size * angle.cos(), times(size, angle.sin()))


def times(size: Tensor, x: Tensor) -> Tensor:
    """size · x, and 0 where x is 0, also for an infinite or NaN size."""
    return chosen((x == 0) & ~size.isfinite(), x * side(size.detach()), size * x)


def complex_expm1(x: Complex) -> Complex:
    """e to the power of x, minus 1."""
    (a, b), power = parts(x), complex_exp(x)
    far = a.detach().abs() > math.log(LARGEST[a.dtype])
    a, b = chosen(far, 0.0, a), chosen(far, 0.0, b)
    half = (b * 0.5).sin()
    near = a.expm1() * b.cos() - 2 * half * half
    return compose(chosen(far, power.real - 1, near), power.imag)


def complex_log(x: Complex) -> Complex:
    """The natural logarithm."""
    part, large = smaller(x)
    size = F["hypot"](part.real, part.imag).log()
    return compose(chosen(large, size + math.log(16), size), F["atan2"](x.imag, x.real))


def complex_log2(x: Complex) -> Complex:
    """The logarithm to base 2."""
    return complex_log(x) / math.log(2)


def complex_log10(x: Complex) -> Complex:
    """The logarithm to base 10."""
    return complex_log(x) / math.log(10)


def complex_exp2(x: Complex) -> Complex:
    """2 to the power of x."""
    return complex_exp(x * math.log(2))


def complex_log1p(x: Complex) -> Complex:
    """The natural logarithm of 1 + x, exact near 0."""
    a, b = parts(x)
    near = a.abs() + b.abs() < 0.5
    little = chosen(near, a * (a + 2) + b * b, 0.0).log1p() * 0.5
    size = F["hypot"](chosen(near, 1.0, a + 1), b).log()
    return compose(chosen(near, little, size), F["atan2"](b, a + 1))


def complex_sqrt(x: Complex) -> Complex:
    """The root whose real part is not negative."""
    a, b = parts(x)
    good = a.isfinite() & b.isfinite()
    part, large = smaller(compose(chosen(good, a, 1.0), chosen(good, b, 0.0)))
    made, scale = finite_root(part), chosen(large, 4.0, 1.0).to(a.dtype)
    # of an infinite imaginary part the root is infinite, whatever the other is
    flat, up = chosen(a.isnan() | b.isnan(), math.nan, 0.0), side(b.detach())
    re = chosen(b.isinf(), math.inf, chosen(a == math.inf, math.inf, flat))
    im = chosen(b.isinf(), b, chosen(a == -math.inf, up * math.inf, flat * up))
    return compose(chosen(good, made.real * scale, re), chosen(good, made.imag * scale, im))


def finite_root(x: Complex) -> Complex:
    """The root of finite numbers."""
    a, b = parts(x)
    none = at_zero(x)
    size = ((complex_abs(x) + a.abs()) * 0.5).detach()
    scale = chosen(size == 0, 1.0, size)
    far = F["hypot"](chosen(none, 1.0, a) / scale, b / scale)
    root = chosen(none, 1.0, (far + (a / scale).abs()) * 0.5).sqrt() * scale.sqrt()
    other, right, up = b / (root * 2), a >= 0, side(b)
    re, im = chosen(right, root, other * up), chosen(right, other, root * up)
    return compose(chosen(none, 0.0, re), chosen(none, b, im))


def complex_rsqrt(x: Complex) -> Complex:
    """One over the root."""
    return complex_reciprocal(complex_sqrt(x))


def side(x: Tensor) -> Tensor:
    """The sign 1, or −1 below 0 and at −0, without losing gradients at 0 as abs and copysign do."""
    return chosen(x.signbit(), -1.0, 1.0).to(x.dtype)


def complex_pow(x: Any, y: Any) -> Any:
    """x to the power of y; small whole powers by products, the rest by logarithms."""
    if isinstance(y, (int, float)) and float(y).is_integer() and abs(y) <= 8:
        made = whole_power(x, int(abs(y)))
        return made if y >= 0 else complex_reciprocal(made)
    if isinstance(y, (int, float)) and y == 0.5:
        return complex_sqrt(x)
    base = base_of(x, y)
    none = at_zero(base)
    safe = compose(chosen(none, 1.0, base.real), base.imag)
    made = complex_exp(complex_multiply(complex_log(safe), y))
    zeroth = y == 0 if isinstance(y, Tensor) else none & (y == 0)
    # of 0, powers with a positive real part are 0, and others but the zeroth have no value
    real = y.real if isinstance(y, (Tensor, complex)) else y
    defined = (real > 0) | zeroth
    re = chosen(none & ~zeroth, 0.0, made.real)
    lost = none & ~defined
    return compose(chosen(lost, math.nan, re), chosen(lost, math.nan, chosen(none, 0.0, made.imag)))


def base_of(x: Any, y: Any) -> Complex:
    """A base as complex numbers of the power's dtype."""
    if not isinstance(x, Tensor):
        number = complex(x)
        return as_complex(F["ones_like"](y.real), promote(complex64, y.dtype)) * number
    return as_complex(x, promote(x.dtype, y.dtype if isinstance(y, Tensor) else complex64))


def whole_power(x: Any, count: int) -> Any:
    """x to an integer power, by repeated squaring."""
    if count == 0:
        return compose(F["full_like"](x.real, 1.0))
    half = x if count == 1 else whole_power(x, count // 2)
    made = half if count == 1 else complex_multiply(half, half)
    return complex_multiply(made, x) if count % 2 and count > 1 else made


def complex_sigmoid(x: Complex) -> Complex:
    """1 / (1 + e⁻ˣ)."""
    return complex_reciprocal(complex_add(complex_exp(opposite(x)), 1.0))


def complex_silu(x: Complex) -> Complex:
    """x · sigmoid(x)."""
    return complex_multiply(x, complex_sigmoid(x))


# comparisons


def complex_equal(x: Any, y: Any) -> Tensor:
    """Whether both parts are equal."""
    (a, b), (c, d) = parts(x), parts(y)
    return (a == c) & ((0 if b is None else b) == (0 if d is None else d))


def complex_not_equal(x: Any, y: Any) -> Tensor:
    """Whether a part differs."""
    return ~complex_equal(x, y)


def complex_logical_not(x: Complex) -> Tensor:
    """Whether both parts are 0."""
    return at_zero(x)


def of_operand(x: Any) -> Complex:
    """A tensor or a number as complex numbers, without rounding."""
    if isinstance(x, Complex):
        return x
    return compose(x) if isinstance(x, Tensor) else as_complex(x, complex128)


def complex_isclose(
    x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Whether numbers are close by their distance."""
    x, y = map(of_operand, (x, y))
    gone = complex_abs(complex_subtract(x, y))
    near = (gone <= atol + rtol * complex_abs(y)) & gone.isfinite()
    made = near | complex_equal(x, y)
    return made | (complex_isnan(x) & complex_isnan(y)) if equal_nan else made


def complex_isnan(x: Complex) -> Tensor:
    """Whether a part is NaN."""
    return x.real.isnan() | x.imag.isnan()


def complex_isinf(x: Complex) -> Tensor:
    """Whether a part is infinite."""
    return x.real.isinf() | x.imag.isinf()


def complex_isfinite(x: Complex) -> Tensor:
    """Whether both parts are finite."""
    return x.real.isfinite() & x.imag.isfinite()
