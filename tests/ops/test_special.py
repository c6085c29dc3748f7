"""Special functions against mpmath."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from gnomon.ops.registry import OPS
from gnomon.ops.special import digamma, erfc, erfinv, lgamma
from tests.graphs import value

pytestmark = pytest.mark.unit

CASES = (
    (erfc, mpmath.erfc, (-5, -0.4, 0.0, 0.9, 1.99, 2.0, 3.7, 9.0, 25.0)),
    (erfinv, mpmath.erfinv, (-0.999, -0.5, 0.001, 0.3, 0.9, 0.9999)),
    (lgamma, mpmath.loggamma, (0.001, 0.3, 1.5, 3.0, 7.99, 8.0, 8.5, 171.0, 1e10)),
    (digamma, mpmath.digamma, (-7.3, -0.4, 0.01, 0.5, 1.0, 2.5, 7.99, 8.0, 1e8)),
)


@pytest.mark.parametrize(("function", "exact", "places"), CASES, ids=lambda v: str(v)[:12])
def test_a_value_is_right_to_a_few_units_in_the_last_place(function, exact, places):
    made = value(function, np.array(places, np.float64))

    wanted = [float(exact(mpmath.mpf(x))) for x in places]
    np.testing.assert_allclose(made, wanted, rtol=2e-13)


def test_erfinv_reaches_infinity_at_the_ends():
    assert value(erfinv, np.array([-1.0, 1.0])).tolist() == [-np.inf, np.inf]


def test_lgamma_of_negative_numbers_is_that_of_the_absolute_value():
    made = value(OPS["lgamma"], np.array([-0.5, -1.5]))

    np.testing.assert_allclose(made, [np.log(2 * np.sqrt(np.pi)), np.log(4 / 3 * np.sqrt(np.pi))])
