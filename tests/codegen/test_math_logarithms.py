"""Logarithms, powers and inverse hyperbolic functions at their special values."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import DTYPES, SCALARS, differing, edges, run

LOGARITHM = {0.0: -inf, 1: 0, inf: inf, -inf: nan, -1: nan, -1e-45: nan, nan: nan}
AT = {
    "log": LOGARITHM,
    "log2": {**LOGARITHM, 8: 3, 0.25: -2, 2.0**100: 100, 2.0**-149: -149},
    "log10": {**LOGARITHM, 1000: 3, 1e10: 10},
    "log1p": {-1: -inf, inf: inf, -2: nan, -inf: nan, nan: nan, 1e-45: 1e-45},
    "asinh": {inf: inf, -inf: -inf, nan: nan, 1e-45: 1e-45},
    "acosh": {1: 0, inf: inf, 0.5: nan, 0.0: nan, -1: nan, -1e30: nan, -inf: nan, nan: nan},
    "atanh": {1: inf, -1: -inf, 1.5: nan, -3: nan, inf: nan, nan: nan, 1e-45: 1e-45},
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", AT)
def test_special_values(name, scalar):
    given, wanted = (np.array([*x], DTYPES[scalar]) for x in (AT[name], AT[name].values()))

    assert not differing(run(FUNCTIONS[name], scalar, given), wanted).size


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["log1p", "asinh", "atanh"])
def test_zeros_keep_their_sign(name, scalar):
    zeros = np.array([0.0, -0.0], DTYPES[scalar])

    assert not differing(run(FUNCTIONS[name], scalar, zeros), zeros).size


@pytest.mark.parametrize("scalar", SCALARS)
def test_the_smallest_and_largest_numbers_have_logarithms(scalar):
    machine = np.finfo(DTYPES[scalar])
    ends = np.array([machine.smallest_subnormal, machine.max], DTYPES[scalar])

    assert np.allclose(run(FUNCTIONS["log"], scalar, ends), np.log(ends), rtol=1e-6)
    assert np.allclose(run(FUNCTIONS["log1p"], scalar, ends[1:]), np.log(ends[1:]), rtol=1e-6)
    assert np.allclose(run(FUNCTIONS["asinh"], scalar, ends), np.arcsinh(ends), rtol=1e-6)


@pytest.mark.parametrize("scalar", SCALARS)
def test_powers_of_special_values_are_those_of_c(scalar):
    special = [*edges(scalar), 0.25, -0.25, 4, -4, 5, -5]
    x, y = (g.ravel().astype(DTYPES[scalar]) for g in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        wanted = np.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)

    made = run(FUNCTIONS["pow"], scalar, x, y)

    certain = ~np.isfinite(wanted) | (wanted == 0) | (np.abs(wanted) == 1)
    assert not differing(made[certain], wanted[certain]).size
    assert (np.signbit(made) == np.signbit(wanted))[~np.isnan(wanted)].all()


@pytest.mark.parametrize("scalar", SCALARS)
def test_small_whole_powers_are_exact(scalar):
    base, exponent = (g.ravel() for g in np.meshgrid(np.arange(-9, 10), np.arange(8)))

    made = run(FUNCTIONS["pow"], scalar, *(v.astype(DTYPES[scalar]) for v in (base, exponent)))

    assert (made == base**exponent).all()
