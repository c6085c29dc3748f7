"""Circular functions at their special values, at large angles, and in every quadrant."""

from __future__ import annotations

from math import inf, nan, pi

import mpmath
import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import DTYPES, SCALARS, differing, edges, run

LARGEST = {"float": 127, "double": 1023}
AT = {
    "sin": {inf: nan, -inf: nan, nan: nan, 1e-45: 1e-45},
    "cos": {0.0: 1, inf: nan, nan: nan, 1e-45: 1},
    "tan": {inf: nan, -inf: nan, nan: nan, 1e-45: 1e-45},
    "asin": {1: pi / 2, -1: -pi / 2, 1.5: nan, -inf: nan, nan: nan, 1e-45: 1e-45},
    "acos": {1: 0, 0.0: pi / 2, -1: pi, 1.5: nan, inf: nan, nan: nan},
    "atan": {inf: pi / 2, -inf: -pi / 2, 1: pi / 4, nan: nan, 1e-45: 1e-45},
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", AT)
def test_special_values(name, scalar):
    given, wanted = (np.array([*x], DTYPES[scalar]) for x in (AT[name], AT[name].values()))

    assert not differing(run(FUNCTIONS[name], scalar, given), wanted).size


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["sin", "tan", "asin", "atan"])
def test_zeros_keep_their_sign(name, scalar):
    zeros = np.array([0.0, -0.0], DTYPES[scalar])

    assert not differing(run(FUNCTIONS[name], scalar, zeros), zeros).size


@pytest.mark.parametrize("scalar", SCALARS)
def test_the_angle_of_special_points_is_that_of_c(scalar):
    y, x = (g.ravel() for g in np.meshgrid(edges(scalar), edges(scalar)))
    odd = (x == 0) | (y == 0) | ~np.isfinite(x) | ~np.isfinite(y)
    y, x = y[odd], x[odd]

    made = run(FUNCTIONS["atan2"], scalar, y, x)

    assert not differing(made, np.arctan2(y, x)).size


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_multiples_of_a_quarter_turn_lose_no_precision(name, rng):
    turns = np.floor(np.exp2(rng.uniform(0, 1020, 300)))
    # the last is the double that lies nearest to a multiple of a quarter turn
    angles = np.append(turns * (pi / 2), 6381956970095103 * 2.0**797)

    made = run(FUNCTIONS[name], "double", angles)

    for angle, value in zip(angles, made, strict=True):
        with mpmath.workdps(400):
            wanted = getattr(mpmath, name)(mpmath.mpf(float(angle)))
            error = abs(mpmath.mpf(float(value)) - wanted) / float(np.spacing(abs(value)))
        assert error <= 4, angle


@pytest.mark.parametrize("scalar", SCALARS)
def test_sine_and_cosine_lie_on_the_circle_at_any_angle(scalar, rng):
    angles = (rng.choice([-1, 1], 5000) * np.exp2(rng.uniform(-20, LARGEST[scalar], 5000))).astype(
        DTYPES[scalar]
    )

    sine, cosine = (run(FUNCTIONS[name], scalar, angles) for name in ("sin", "cos"))

    radius = np.hypot(sine.astype(np.float64), cosine.astype(np.float64))
    assert np.allclose(radius, 1, rtol=0, atol=4 * np.finfo(DTYPES[scalar]).eps)
