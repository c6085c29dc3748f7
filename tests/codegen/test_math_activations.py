"""Activations at their ends: a share of x that fades to nothing below, and to x above."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import DTYPES, SCALARS, run

NAMES = ["gelu", "gelu_tanh", "silu", "mish"]


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", NAMES)
def test_special_values(name, scalar):
    given = np.array([0.0, -0.0, inf, -inf, nan, -1e30, 1e30, 60.0], DTYPES[scalar])
    wanted = np.array([0.0, -0.0, inf, nan, nan, -0.0, 1e30, 60.0], DTYPES[scalar])

    np.testing.assert_array_equal(run(FUNCTIONS[name], scalar, given), wanted)


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", NAMES)
def test_the_lower_tail_fades_through_the_denormals(name, scalar):
    low = {"float": -120.0, "double": -760.0}[scalar]
    tail = run(FUNCTIONS[name], scalar, np.linspace(low, -4, 200_000).astype(DTYPES[scalar]))

    assert (tail <= 0).all()
    assert 0 < -tail[tail < 0].max() < np.finfo(DTYPES[scalar]).tiny / 1000
