"""Exponentials and hyperbolic functions at their special values."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import DTYPES, SCALARS, differing, run

AT = {
    "exp": {0.0: 1, inf: inf, -inf: 0, 1e4: inf, -1e4: 0, 1e-45: 1, nan: nan},
    "exp2": {0.0: 1, inf: inf, -inf: 0, 3: 8, -1: 0.5, 1e5: inf, -1e5: 0, nan: nan},
    "expm1": {inf: inf, -inf: -1, -50: -1, 1e4: inf, 1e-45: 1e-45, nan: nan},
    "sigmoid": {0.0: 0.5, inf: 1, -inf: 0, 1e4: 1, -1e4: 0, nan: nan},
    "tanh": {inf: 1, -inf: -1, 30: 1, -30: -1, 1e-45: 1e-45, nan: nan},
    "sinh": {inf: inf, -inf: -inf, 1e4: inf, -1e4: -inf, 1e-45: 1e-45, nan: nan},
    "cosh": {0.0: 1, inf: inf, -inf: inf, 1e4: inf, nan: nan},
}
# doubles at the last value before a result overflows, and just past it
EDGE = {"float": (88.72283, 88.72284), "double": (709.782712893384, 709.7827128933841)}
LOWEST = {"float": (-103.97, -104.0), "double": (-745.13, -745.14)}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", AT)
def test_special_values(name, scalar):
    given, wanted = (np.array([*x], DTYPES[scalar]) for x in (AT[name], AT[name].values()))

    assert not differing(run(FUNCTIONS[name], scalar, given), wanted).size


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", ["expm1", "sinh", "tanh"])
def test_zeros_keep_their_sign(name, scalar):
    zeros = np.array([0.0, -0.0], DTYPES[scalar])

    assert not differing(run(FUNCTIONS[name], scalar, zeros), zeros).size


@pytest.mark.parametrize("scalar", SCALARS)
def test_exp_overflows_where_the_largest_number_ends(scalar):
    below, above = run(FUNCTIONS["exp"], scalar, np.array(EDGE[scalar], DTYPES[scalar]))

    assert np.isfinite(below)
    assert np.isinf(above)


@pytest.mark.parametrize("scalar", SCALARS)
def test_exp_fades_through_the_denormals(scalar):
    last, none = run(FUNCTIONS["exp"], scalar, np.array(LOWEST[scalar], DTYPES[scalar]))

    assert last == np.finfo(DTYPES[scalar]).smallest_subnormal
    assert none == 0


@pytest.mark.parametrize("scalar", SCALARS)
def test_exp2_of_whole_numbers_is_exact_down_to_the_denormals(scalar):
    machine = np.finfo(DTYPES[scalar])
    powers = np.arange(machine.minexp - machine.nmant, machine.maxexp, dtype=DTYPES[scalar])

    made = run(FUNCTIONS["exp2"], scalar, powers)

    assert (made == np.ldexp(DTYPES[scalar].type(1), powers.astype(int))).all()


@pytest.mark.parametrize("scalar", SCALARS)
def test_the_lower_tail_of_sigmoid_is_that_of_exp(scalar):
    far = np.array([-60.0, -80.0], DTYPES[scalar])

    sigmoid, exp = (run(FUNCTIONS[name], scalar, far) for name in ("sigmoid", "exp"))

    assert (sigmoid == exp).all()
