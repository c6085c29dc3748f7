"""Bessel functions and erfcx against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import gnomon as gn
from gnomon.ops import bessel
from tests.graphs import value

pytestmark = pytest.mark.unit

NEAR_AND_FAR = np.array(
    [1e-8, 1e-3, 0.5, 1.0, 1.99, 2.0, 2.01, 3.1, 3.99, 4.0, 4.01, 6, 10, 24.9, 25, 25.1, 60, 300]
)
EXACT = {
    "i0": lambda x: mpmath.besseli(0, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-x),
    "modified_bessel_k0": lambda x: mpmath.besselk(0, x),
    "modified_bessel_k1": lambda x: mpmath.besselk(1, x),
    "scaled_modified_bessel_k0": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "scaled_modified_bessel_k1": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
    "erfcx": lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
}
WAVES = {
    "bessel_j0": lambda x: mpmath.besselj(0, x),
    "bessel_j1": lambda x: mpmath.besselj(1, x),
    "bessel_y0": lambda x: mpmath.bessely(0, x),
    "bessel_y1": lambda x: mpmath.bessely(1, x),
}


def exact(of, places) -> list[float]:
    """Values in forty digits, rounded."""
    with mpmath.workdps(40):
        return [float(of(mpmath.mpf(x))) for x in places]


@pytest.mark.parametrize("name", EXACT)
def test_a_value_is_right_relatively(name):
    made = value(getattr(bessel, name), NEAR_AND_FAR)

    np.testing.assert_allclose(made, exact(EXACT[name], NEAR_AND_FAR), rtol=2e-14)


@pytest.mark.parametrize("name", WAVES)
def test_a_wave_is_right_absolutely(name):
    made = value(getattr(bessel, name), NEAR_AND_FAR)

    np.testing.assert_allclose(made, exact(WAVES[name], NEAR_AND_FAR), rtol=2e-14, atol=4e-15)


def test_the_shares_of_the_integral_sum_to_one():
    assert sum(bessel.SHARES) == pytest.approx(1, abs=1e-15)


def test_below_zero_functions_are_even_odd_or_nothing():
    x = np.array([-0.5, -5.0, -40.0])
    for name, sign in (("i0e", 1), ("i1e", -1), ("bessel_j0", 1), ("bessel_j1", -1)):
        both = [value(getattr(bessel, name), side) for side in (x, -x)]
        np.testing.assert_array_equal(both[0], sign * both[1])
    assert np.isnan(value(bessel.bessel_y0, x)).all()
    assert np.isnan(value(bessel.modified_bessel_k1, x)).all()


def test_the_ends_of_the_range_have_their_limits():
    inf, special = float("inf"), gn.special
    x = gn.tensor([0.0, 5e-324, 1e-308, inf], dtype=gn.float64)

    assert special.erfcx(gn.tensor([-inf, -30.0, inf])).tolist() == [inf, inf, 0.0]
    assert special.log_ndtr(gn.tensor([-inf, inf])).tolist() == [-inf, 0.0]
    assert special.bessel_y1(x[:3]).tolist() == [-inf, -inf, -2 / np.pi / 1e-308]
    assert special.bessel_y1(gn.tensor([-1e-40, -1.0])).isnan().all()
    for name in ("modified_bessel_k1", "scaled_modified_bessel_k1"):
        assert getattr(special, name)(x).tolist() == [inf, inf, 1e308, 0.0]
    assert special.i0(gn.tensor([1.7e308], dtype=gn.float64)).item() == inf
    assert special.spherical_bessel_j0(x[3:]).item() == 0.0
