"""The error function and its complement over an Algebra.

Letters: a the algebra, x its value, w its size. In double both come from erfc above 1, which is
e^(−w²) times a smooth function; its exponent is taken with the rounding error of w².
"""

from __future__ import annotations

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.coefficients import ERF, ERF_LARGE, ERFC
from gnomon.codegen.math_exponentials import exp_parts, through_double

ERF_IS_ONE = 3.93
ERFC_IS_ZERO = 27.5
ERFC_CENTRE = 4.0


def small_erf(a: Algebra, x: Value) -> Value:
    """erf for |x| ≤ 1."""
    return a.fma(x, a.polynomial(a.mul(x, x), ERF[a.scalar]), x)


def scaled_erfc(a: Algebra, w: Value, unit: float = 1.0) -> Value:
    """e^(v²) · erfc(v) for v = w / unit ≥ 1/2 in double."""
    centre = ERFC_CENTRE * unit
    q = a.div(a.shift(w, -centre), a.shift(w, centre))
    return a.div(a.polynomial(q, ERFC["double"]), a.fma(w, a.const(2 / unit), a.const(1.0)))


def large_erfc(a: Algebra, w: Value) -> Value:
    """erfc for w ≥ 1/2 in double."""
    w = a.at_most(w, ERFC_IS_ZERO)
    square = a.mul(w, w)
    y, root = exp_parts(a, a.neg(square), a.fma(a.neg(w), w, square))
    return a.mul(a.mul(a.mul(y, scaled_erfc(a, w)), root), root)


def large_erf(a: Algebra, w: Value) -> Value:
    """erf for w ≥ 1."""
    if a.scalar == "double":
        return a.sub(a.const(1.0), large_erfc(a, w))
    return a.polynomial(a.shift(a.at_most(w, ERF_IS_ONE), -2.5), ERF_LARGE["float"])


def erf(a: Algebra, x: Value) -> Value:
    """The error function."""
    w = a.abs(x)
    either = a.select(a.less(w, a.const(1.0)), small_erf(a, w), large_erf(a, w))
    return a.copysign(either, x)


@through_double
def erfc(a: Algebra, x: Value) -> Value:
    """1 − erf(x), precise in its tail."""
    w, one = a.abs(x), a.const(1.0)
    large = large_erfc(a, w)
    far = a.select(a.less(x, a.const(0.0)), a.sub(a.const(2.0), large), large)
    return a.select(a.less(w, a.const(0.5)), a.sub(one, small_erf(a, x)), far)
