"""Special functions in numpy against those of Python and mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from gnomon.ops import special_values as special

pytestmark = pytest.mark.unit

PLACES = np.array([-9.3, -2.5, -0.7, -0.1, 0.2, 0.9, 1.0, 1.9, 2.1, 4.0, 9.5])
CASES = {
    special.erf: math.erf,
    special.erfc: math.erfc,
    special.lgamma_of: math.lgamma,
    special.digamma: lambda x: float(mpmath.digamma(x)),
    special.gelu: lambda x: x * 0.5 * math.erfc(-x * math.sqrt(0.5)),
    special.mish: lambda x: x * math.tanh(math.log1p(math.exp(x))),
    special.sigmoid: lambda x: 1 / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_a_value_is_that_of_its_definition(function):
    wanted = [CASES[function](float(x)) for x in PLACES]

    np.testing.assert_allclose(function(PLACES), wanted, rtol=1e-11, atol=1e-300)


def test_gelu_by_a_tanh_is_near_gelu():
    x = np.linspace(-4, 4, 99)

    assert np.abs(special.gelu_tanh(x) - special.gelu(x)).max() < 5e-4
