"""Rounding, remainders and neighbours give numpy's bits on any pair of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.math import FUNCTIONS
from tests.codegen.vectors import SCALARS, differing, pairs, run, sample

NUMPY = {"ceil": np.ceil, "floor": np.floor, "round": np.rint, "trunc": np.trunc}
DIVISIONS = {"floor_divide": np.floor_divide, "fmod": np.fmod, "remainder": np.remainder}


@pytest.mark.parametrize("scalar", SCALARS)
@pytest.mark.parametrize("name", NUMPY)
def test_rounding_is_numpys_to_the_bit(name, scalar, rng):
    x = sample(rng, scalar, 5000)

    with np.errstate(all="ignore"):
        assert not differing(run(FUNCTIONS[name], scalar, x), NUMPY[name](x)).size


@pytest.mark.parametrize("scalar", SCALARS)
def test_neighbours_are_numpys_to_the_bit(scalar, rng):
    x, y = pairs(rng, scalar, 5000)

    with np.errstate(all="ignore"):
        assert not differing(run(FUNCTIONS["nextafter"], scalar, x, y), np.nextafter(x, y)).size


@pytest.mark.parametrize("name", DIVISIONS)
def test_remainders_of_floats_are_numpys_to_the_bit(name, rng):
    x, y = pairs(rng, "float", 20_000)

    with np.errstate(all="ignore"):
        wanted = DIVISIONS[name](x, y)
    wrong = differing(run(FUNCTIONS[name], "float", x, y), wanted)

    assert not wrong.size, [(x[k], y[k], wanted[k]) for k in wrong[:5]]


@pytest.mark.parametrize("name", DIVISIONS)
def test_remainders_of_doubles_are_numpys_to_the_bit(name, rng):
    x, y = pairs(rng, "double", 20_000)
    with np.errstate(all="ignore"):
        wanted = DIVISIONS[name](x, y)

    wrong = differing(run(FUNCTIONS[name], "double", x, y), wanted)

    assert not wrong.size, [(x[k], y[k], wanted[k]) for k in wrong[:5]]


def test_remainders_of_doubles_reach_all_the_way():
    x, y = np.array([1e300, 1e30, 1.7e308, 1.0]), np.array([0.7, 1e-300, 3e-323, 5e-324])

    assert run(FUNCTIONS["fmod"], "double", x, y).tolist() == np.fmod(x, y).tolist()


def test_a_remainder_takes_the_sign_of_its_divisor():
    x, y = np.array([7.0, -7.0, 7.0, -7.0, 6.0, -6.0]), np.array([3.0, 3.0, -3.0, -3.0, -3.0, 3.0])

    assert run(FUNCTIONS["remainder"], "double", x, y).tolist() == [1, 2, -2, -1, 0, 0]
    assert run(FUNCTIONS["floor_divide"], "double", x, y).tolist() == [2, -3, -3, 2, -2, -2]
