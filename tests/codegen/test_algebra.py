"""What an Algebra makes from its primitives: bounds, polynomials, questions about signs and NaN."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.algebra import LAYOUTS
from tests.codegen.vectors import DTYPES, SCALARS, differing
from tests.oracle.algebra import ExactAlgebra

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("scalar", SCALARS)
def test_layouts_are_those_of_ieee_754(scalar):
    layout, machine = LAYOUTS[scalar], np.finfo(DTYPES[scalar])

    assert (layout.bits, layout.mantissa) == (machine.bits, machine.nmant)
    assert layout.smallest == machine.smallest_normal


@pytest.mark.parametrize("scalar", SCALARS)
def test_bounds_keep_nan_and_the_values_inside(scalar):
    a = ExactAlgebra(scalar)
    x = np.array([-7, -2, 0.5, 3, np.nan, np.inf, -np.inf], DTYPES[scalar])

    inside = a.at_most(a.at_least(x, -2.0), 1.5)

    assert not differing(inside, np.array([-2, -2, 0.5, 1.5, np.nan, 1.5, -2], x.dtype)).size


def test_a_polynomial_takes_the_lowest_power_first():
    a = ExactAlgebra("double")

    assert a.polynomial(np.array([3.0]), (2.0, 5.0, 7.0)) == [2 + 5 * 3 + 7 * 9]


def test_a_negative_zero_is_negative_and_is_not_nan():
    a = ExactAlgebra("float")
    x = np.array([-0.0, 0.0, np.nan, -3.0], np.float32)

    assert a.is_negative(x).tolist() == [True, False, False, True]
    assert a.is_nan(x).tolist() == [False, False, True, False]


def test_adding_the_magic_number_rounds_to_even():
    a = ExactAlgebra("float")
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.6], np.float32)

    whole = a.sub(a.shift(x, a.layout.magic), a.const(a.layout.magic))

    assert whole.tolist() == np.rint(x).tolist()
