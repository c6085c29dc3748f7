"""Activations whose plain formula cancels or underflows, written over an Algebra.

Letters: a the algebra, x its value, y · s · s a power of e. Each is x times a share between 0 and
1. What of a share is a power of e is applied last, so that results fade with one rounding.
"""

from __future__ import annotations

from math import sqrt

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.coefficients import GELU_TAIL
from gnomon.codegen.math_errors import scaled_erfc, small_erf
from gnomon.codegen.math_exponentials import exp_parts
from gnomon.codegen.pairs import two_sum

NONE_LEFT = {"float": -110.0, "double": -755.0}
"""From here down x · e^x rounds to 0."""
NORMAL_END = {"float": 15.0, "double": 39.0}
"""From here on x · erfc(x / √2) rounds to 0."""
POLYNOMIAL_END = {"float": 0.75, "double": 0.5}
"""The value of |x| / √2 below which gelu is computed from `small_erf`, a polynomial."""
GELU_END = {"float": -11.0, "double": -22.0}
"""From here down gelu by a tanh rounds to 0."""
ONE_FROM = 40.0
"""From here on 1 + e^x is e^x in either type."""
# 2 · √(2 / π), and 0.044715 times that, each in two parts
SLOPE = {
    "float": (1.5957691669464111, -4.534068054340423e-08),
    "double": (1.5957691216057308, -9.96930880911092e-17),
}
CUBE = {
    "float": (0.07135481387376785, 2.3988324659995897e-09),
    "double": (0.07135481627260025, -6.175149918155315e-19),
}


def faded(a: Algebra, x: Value, y: Value, s: Value) -> Value:
    """x · y · s · s, rounded once where it is denormal."""
    return a.mul(a.mul(a.mul(x, y), s), s)


def with_end(a: Algebra, x: Value, result: Value) -> Value:
    """The result, with NaN at −∞, which is ∞ · 0 of the formula."""
    return a.fma(a.at_most(x, 0.0), a.const(0.0), result)


def silu(a: Algebra, x: Value) -> Value:
    """x / (1 + e^−x)."""
    w = a.at_least(x, NONE_LEFT[a.scalar])
    y, s = exp_parts(a, a.at_most(w, ONE_FROM))
    return with_end(a, x, faded(a, w, a.div(y, a.shift(a.mul(a.mul(y, s), s), 1.0)), s))


def mish(a: Algebra, x: Value) -> Value:
    """x · tanh(log(1 + w)) for w = e^x, which is x · n / (n + 2) for n = w · (w + 2)."""
    v = a.at_least(x, NONE_LEFT[a.scalar])
    y, s = exp_parts(a, a.at_most(v, ONE_FROM / 2))
    w = a.mul(a.mul(y, s), s)
    more = a.shift(w, 2.0)
    share = a.div(a.fma(y, w, a.add(y, y)), a.fma(w, more, a.const(2.0)))
    return with_end(a, x, faded(a, v, share, s))


def gelu(a: Algebra, x: Value) -> Value:
    """x · erfc(−x / √2) / 2, computed as max(x, 0) − |x| · erfc(|x| / √2) / 2."""
    w = a.at_most(a.abs(x), NORMAL_END[a.scalar])
    half, root = a.scale(w, -0.5), a.scale(w, sqrt(0.5))
    exponent = a.mul(half, w)
    y, s = exp_parts(a, exponent, a.fma(half, w, a.neg(exponent)))
    if a.scalar == "float":
        tail = a.polynomial(a.div(a.const(1.0), a.shift(w, 1.5)), GELU_TAIL["float"])
    else:
        tail = a.mul(a.neg(half), scaled_erfc(a, w, sqrt(2)))
    missing = faded(a, tail, y, s)
    near = a.mul(a.neg(half), a.sub(a.const(1.0), small_erf(a, root)))
    missing = a.select(a.less(root, a.const(POLYNOMIAL_END[a.scalar])), near, missing)
    return with_end(a, x, a.sub(a.at_least(x, 0.0), missing))


def gelu_tanh(a: Algebra, x: Value) -> Value:
    """x · (1 + tanh(√(2 / π) · (x + 0.044715 · x³))) / 2: the tanh makes it a sigmoid."""
    w = a.at_least(x, GELU_END[a.scalar])
    u = a.at_most(w, 8.0)
    (slope, slope_rest), (cube, cube_rest) = SLOPE[a.scalar], CUBE[a.scalar]
    square = a.mul(u, u)
    square_rest = a.fma(u, u, a.neg(square))
    bend = a.scale(square, cube)
    bend_rest = a.fma(square, a.const(cube), a.neg(bend))
    bend_rest = a.fma(square_rest, a.const(cube), bend_rest)
    bend_rest = a.fma(square, a.const(cube_rest), a.shift(bend_rest, slope_rest))
    steep, lost = two_sum(a, bend, a.const(slope))
    exponent = a.mul(u, steep)
    rest = a.fma(u, a.add(lost, bend_rest), a.fma(u, steep, a.neg(exponent)))
    y, s = exp_parts(a, exponent, rest)
    return with_end(a, x, faded(a, w, a.div(y, a.shift(a.mul(a.mul(y, s), s), 1.0)), s))
