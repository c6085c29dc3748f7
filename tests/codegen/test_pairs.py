"""Sums of two doubles lose nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from gnomon.codegen.pairs import fast_sum, product, two_sum
from tests.oracle.algebra import ExactAlgebra


def exactly(pair: tuple[np.ndarray, np.ndarray], k: int) -> Fraction:
    """The k-th pair as one number."""
    return Fraction(float(pair[0][k])) + Fraction(float(pair[1][k]))


def test_sums_of_two_numbers_are_exact(rng):
    x, y = (rng.standard_normal(50) * np.exp2(rng.uniform(-30, 30, 50)) for _ in range(2))
    large, small = np.where(abs(x) > abs(y), (x, y), (y, x))
    a = ExactAlgebra("double")

    for k in range(50):
        assert exactly(two_sum(a, x, y), k) == Fraction(x[k]) + Fraction(y[k])
        assert exactly(fast_sum(a, large, small), k) == Fraction(x[k]) + Fraction(y[k])


def test_a_product_of_pairs_has_twice_the_digits(rng):
    x, y = (rng.standard_normal(50), rng.standard_normal(50) * 2.0**-55), rng.standard_normal(50)
    pair = product(ExactAlgebra("double"), x, (y, np.zeros(50)))

    for k in range(50):
        wanted = exactly(x, k) * Fraction(y[k])
        assert abs(exactly(pair, k) - wanted) <= abs(wanted) * Fraction(1, 2**100)
