"""The logarithm of the gamma function and its derivative at their special values."""

from __future__ import annotations

from math import inf, nan

import mpmath
import numpy as np
import pytest

from gnomon.codegen.coefficients_gamma import LGAMMA_ZEROS
from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import DTYPES, SCALARS, differing, exact, run

AT = {
    "lgamma": {1: 0, 2: 0, 0.0: inf, -1: inf, -7: inf, inf: inf, -inf: inf, nan: nan},
    "digamma": {0.0: -inf, -1: nan, -7: nan, inf: inf, -inf: nan, nan: nan},
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", AT)
def test_special_values(name, scalar):
    given, wanted = (np.array([*x], DTYPES[scalar]) for x in (AT[name], AT[name].values()))

    assert not differing(run(FUNCTIONS[name], scalar, given), wanted).size


def test_lgamma_changes_its_sign_at_each_zero_that_doubles_tell_apart():
    zeros = np.array([row[0] for row in LGAMMA_ZEROS["double"] if abs(row[2]) < 1e12])

    around = [run(FUNCTIONS["lgamma"], "double", -zeros * (1 + d)) for d in (-1e-15, 1e-15)]

    assert (np.sign(around[0]) == -np.sign(around[1])).all()


def test_machine_code_gives_the_oracles_bits_beside_the_zeros():
    zeros = np.array([row[0] for row in LGAMMA_ZEROS["double"]])
    beside = -np.concatenate([zeros + d for d in (-0.3, -1e-9, 0, 1e-9, 0.3)])

    made = run(FUNCTIONS["lgamma"], "double", beside)

    assert not differing(made, exact(FUNCTIONS["lgamma"], "double", beside)).size


def test_lgamma_is_precise_between_its_first_zeros():
    # worst of a million points, by the way before: 7 units in the last place
    places = np.array([-2.6112921862, -1.6915043712, -2.7466601201, -2.7752388564, -3.9567745554])
    made = run(FUNCTIONS["lgamma"], "double", places)

    with mpmath.workdps(40):
        exact = [mpmath.loggamma(mpmath.mpf(float(x))).real for x in places]
        errors = [abs(mpmath.mpf(float(y)) - z) for y, z in zip(made, exact, strict=True)]
    units = np.spacing(np.abs(np.array(exact, float)))
    assert (np.array(errors, float) <= 3.1 * units).all()
