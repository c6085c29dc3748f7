"""Sums of two doubles as one number of twice the precision, over an Algebra.

Letters: a the algebra, x and y its values or pairs (high, low).
"""

from __future__ import annotations

from gnomon.codegen.algebra import Algebra, Value

Pair = tuple[Value, Value]


def fast_sum(a: Algebra, x: Value, y: Value) -> Pair:
    """x + y and its rounding error, for |x| ≥ |y| or x = 0."""
    total = a.add(x, y)
    return total, a.add(a.sub(x, total), y)


def two_sum(a: Algebra, x: Value, y: Value) -> Pair:
    """x + y and its rounding error."""
    total = a.add(x, y)
    other = a.sub(total, x)
    return total, a.add(a.sub(x, a.sub(total, other)), a.sub(y, other))


def product(a: Algebra, x: Pair, y: Pair) -> Pair:
    """The product of two double-doubles, as a double-double."""
    high = a.mul(x[0], y[0])
    low = a.fma(x[0], y[0], a.neg(high))
    return high, a.fma(x[0], y[1], a.fma(x[1], y[0], low))
