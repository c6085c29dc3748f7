"""The error function and its complement at their special values."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import DTYPES, SCALARS, differing, run

AT = {
    "erf": {inf: 1, -inf: -1, 6: 1, -6: -1, 1e30: 1, nan: nan},
    "erfc": {0.0: 1, inf: 0, -inf: 2, 30: 0, 1e30: 0, -1e30: 2, nan: nan},
}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", AT)
def test_special_values(name, scalar):
    given, wanted = (np.array([*x], DTYPES[scalar]) for x in (AT[name], AT[name].values()))

    assert not differing(run(FUNCTIONS[name], scalar, given), wanted).size


@pytest.mark.parametrize("scalar", SCALARS)
def test_erf_is_odd_to_the_bit(scalar, rng):
    x = np.append(rng.standard_normal(500) * 2, 0).astype(DTYPES[scalar])

    assert not differing(run(FUNCTIONS["erf"], scalar, -x), -run(FUNCTIONS["erf"], scalar, x)).size


def test_the_tail_of_erfc_fades_through_the_denormals():
    tail = run(FUNCTIONS["erfc"], "double", np.linspace(26.5, 27.4, 100))

    assert (np.diff(tail) <= 0).all()
    assert 0 < tail[tail > 0].min() < 1e-320


@pytest.mark.parametrize("scalar", SCALARS)
def test_erf_and_its_complement_add_up(scalar, rng):
    x = rng.uniform(-3, 3, 500).astype(DTYPES[scalar])

    total = run(FUNCTIONS["erf"], scalar, x) + run(FUNCTIONS["erfc"], scalar, x)

    assert np.allclose(total, 1, rtol=4 * np.finfo(DTYPES[scalar]).eps)
