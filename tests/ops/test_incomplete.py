"""Zeta, polygamma, incomplete gammas and normal tails against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.ops import incomplete
from tests.graphs import value

pytestmark = pytest.mark.unit


def exact(of, *places) -> list[float]:
    """Values in forty digits, rounded."""
    with mpmath.workdps(40):
        return [float(of(*map(mpmath.mpf, each))) for each in zip(*places, strict=True)]


def test_the_zeta_function():
    s, q = np.array([1.01, 1.5, 2, 3.7, 12, 40]), np.array([0.05, 30.0, 1, 9.9, 0.3, 2])

    made = value(incomplete.zeta, s, q)

    np.testing.assert_allclose(made, exact(mpmath.zeta, s, q), rtol=2e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_derivatives_of_digamma_on_both_sides_of_zero(n):
    x = np.array([0.01, 0.7, 3.2, 25.0, -0.3, -4.6, -17.2])

    made = value(lambda z: incomplete.polygamma(n, z), x)

    np.testing.assert_allclose(made, exact(lambda z: mpmath.polygamma(n, z), x), rtol=1e-13)


@pytest.mark.parametrize("lower", [True, False])
def test_incomplete_gammas(lower):
    a = np.array([1e-3, 0.5, 0.5, 1, 3, 3, 3, 9.9, 30, 30, 200, 200, 1500, 1500])
    x = np.array([0.09, 1e-3, 7.0, 1, 0.2, 3, 30, 10.1, 18, 50, 150, 230, 1400, 1600.0])

    made = value(incomplete.igamma if lower else incomplete.igammac, a, x)

    def of(a, x):
        ends = (0, x) if lower else (x,)
        return mpmath.gammainc(a, *ends, regularized=True)

    np.testing.assert_allclose(made, exact(of, a, x), rtol=1e-12)


def test_incomplete_gammas_at_their_ends():
    a, x = np.array([0.0, 1, 1, 0, -1, 2]), np.array([1.0, 0, np.inf, 0, 1, -1])

    np.testing.assert_array_equal(value(incomplete.igamma, a, x), [1, 0, 1, *[np.nan] * 3])
    np.testing.assert_array_equal(value(incomplete.igammac, a, x), [0, 1, 0, *[np.nan] * 3])


def test_the_normal_distribution():
    x = np.array([-30.0, -8, -1.001, -1, -0.3, 0, 0.5, 6])

    np.testing.assert_allclose(value(incomplete.ndtr, x), exact(mpmath.ncdf, x), rtol=1e-12)
    made = value(incomplete.log_ndtr, x)
    np.testing.assert_allclose(made, exact(lambda z: mpmath.log(mpmath.ncdf(z)), x), rtol=1e-12)


def test_quantiles_of_the_normal_distribution():
    p = np.array([1e-300, 1e-20, 1e-3, 0.3, 0.5, 0.7, 0.999])

    made = value(incomplete.ndtri, p)

    np.testing.assert_allclose(value(incomplete.ndtr, made[1:]), p[1:], rtol=1e-13)
    assert made[0] == pytest.approx(-37.0471, abs=1e-4)
    ends = value(incomplete.ndtri, np.array([0.0, 1.0, 1.5]))
    np.testing.assert_array_equal(ends, [-np.inf, np.inf, np.nan])


@pytest.mark.parametrize("name", ["mvlgamma", "polygamma"])
def test_an_order_that_would_take_for_ever_is_refused(name):
    x = gn.ones(2)
    given = {"mvlgamma": (x, 2**63 - 1), "polygamma": (2**63 - 1, x)}[name]

    with pytest.raises(ArgumentError, match=f"^{name}: . is a whole number from . to "):
        getattr(gn, name)(*given)


def test_many_dimensions_are_one_sum():
    x = np.array([60.5, 1000.25, 61.0])
    wanted = [float(mpmath.log(mpmath.pi) * 99 * 98 / 4) for _ in x]
    wanted = [
        w + float(sum(mpmath.loggamma(v - k / 2) for k in range(99)))
        for v, w in zip(x, wanted, strict=True)
    ]
    assert value(lambda x: incomplete.mvlgamma(x, 99), x) == pytest.approx(wanted, rel=1e-12)
