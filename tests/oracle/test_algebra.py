"""The bit oracle against exact rational arithmetic: fma above all, which numpy has not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests import drawn as st
from tests.codegen.vectors import DTYPES, SCALARS, differing, pairs
from tests.drawn import given
from tests.oracle.algebra import ExactAlgebra

pytestmark = pytest.mark.unit

WIDTHS = {"float": 32, "double": 64}


def to_nearest(exact: Fraction, scalar: str) -> float:
    """A fraction rounded once to a type: the definition, by whole numbers."""
    layout = ExactAlgebra(scalar).layout
    size = abs(exact)
    exponent = -layout.bias - layout.mantissa + 1
    while size >= Fraction(2) ** (exponent + layout.mantissa + 1):
        exponent += 1
    units = round(size / Fraction(2) ** exponent)
    if units * Fraction(2) ** exponent >= Fraction(2) ** (layout.bias + 1):
        return float("inf") if exact > 0 else -float("inf")
    return float(units * Fraction(2) ** exponent) * (1 if exact > 0 else -1)


def fused(x: float, y: float, z: float, scalar: str) -> float:
    """x · y + z rounded once, for finite numbers."""
    total = Fraction(x) * Fraction(y) + Fraction(z)
    if total == 0:
        return x * y + z
    return to_nearest(total, scalar)


def check(scalar: str, *numbers: float) -> None:
    """Compare one fma with its definition."""
    x, y, z = (np.array([n], DTYPES[scalar]) for n in numbers)

    got = ExactAlgebra(scalar).fma(x, y, z)

    wanted = np.array([fused(float(x[0]), float(y[0]), float(z[0]), scalar)], DTYPES[scalar])
    assert not differing(got, wanted).size, (numbers, got, wanted)


def numbers(scalar: str) -> st.Strategy:
    """Finite numbers of a type, near one another often enough for sums to cancel."""
    near_one = st.integers(-50, 50).map(lambda k: 1 + k * float(np.finfo(DTYPES[scalar]).eps))
    return st.floats(allow_nan=False, allow_infinity=False, width=WIDTHS[scalar]) | near_one


@given(x=numbers("float"), y=numbers("float"), z=numbers("float"))
def test_the_fma_of_floats_rounds_once(x, y, z):
    check("float", x, y, z)


@given(x=numbers("double"), y=numbers("double"), z=numbers("double"))
def test_the_fma_of_doubles_rounds_once(x, y, z):
    check("double", x, y, z)


@given(x=numbers("float"), y=numbers("float"), side=st.sampled_from([-1, 0, 1]))
def test_the_fma_of_floats_sees_which_side_of_a_tie_it_is_on(x, y, side):
    tie = np.float32(1 + side * 2.0**-30)

    check("float", x, float(tie), y)
    check("float", 2.0**-12 * (1 + 2.0**-12), 2.0**-12, 1 + side * 2.0**-23)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("power", [-1070, -1022, -149, -126, -60, 0, 60, 120, 1000])
def test_fma_cancels_exactly_at_every_magnitude(scalar, power, rng):
    layout = ExactAlgebra(scalar).layout
    power = max(min(power, layout.bias - 3), 2 - layout.bias - layout.mantissa)
    for _ in range(20):
        x, y = rng.uniform(1, 2, 2).astype(DTYPES[scalar])
        scaled = float(np.ldexp(x, power))
        check(scalar, scaled, float(y), -float(DTYPES[scalar].type(scaled * float(y))))


@pytest.mark.parametrize("scalar", SCALARS)
def test_fma_of_infinities_and_nan_is_that_of_two_steps(scalar):
    values = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan], DTYPES[scalar])
    x, y, z = (grid.ravel() for grid in np.meshgrid(values, values, values))

    got = ExactAlgebra(scalar).fma(x, y, z)

    with np.errstate(invalid="ignore"):
        assert not differing(got, x * y + z).size


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_product_that_overflows_leaves_an_infinite_addend_alone(scalar):
    a, huge = ExactAlgebra(scalar), np.finfo(DTYPES[scalar]).max

    total = a.fma(np.array([huge]), np.array([huge]), np.array([-np.inf], DTYPES[scalar]))

    assert total.tolist() == [-np.inf]


@pytest.mark.parametrize("scalar", SCALARS)
def test_minimum_and_maximum_keep_nan_and_order_zeros(scalar, rng):
    a, (x, y) = ExactAlgebra(scalar), pairs(rng, scalar, 50)

    low, high = a.minimum(x, y), a.maximum(x, y)

    nan = np.isnan(x) | np.isnan(y)
    zeros = (x == 0) & (y == 0)
    assert np.isnan(low[nan]).all()
    assert np.isnan(high[nan]).all()
    assert (np.signbit(low) == (np.signbit(x) | np.signbit(y)))[zeros].all()
    assert (np.signbit(high) == (np.signbit(x) & np.signbit(y)))[zeros].all()
