"""The table of scalar functions: derivatives against differences, algebra against values."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.ir.operators import elementwise
from gnomon.ops.scalars import SCALARS, where
from tests import drawn as st
from tests.drawn import given
from tests.graphs import check_gradient, value

pytestmark = pytest.mark.unit

# where a function is smooth, if not on (0.2, 0.9)
DOMAINS = {"acosh": (1.2, 3.0), "floor_divide": (2.1, 2.9), "pow": (0.5, 2.0)}
SMOOTH = [
    name
    for name, scalar in SCALARS.items()
    if any(scalar.gradients) and scalar.result == "same" and name != "where"
]
FLOATS = st.floats(width=32, allow_nan=True)
LARGE = st.floats(-(2.0**99), 2.0**99, width=32)
FLOAT_PAIRS = [
    name
    for name, scalar in SCALARS.items()
    if scalar.arity == 2 and scalar.commutative and name not in ("and", "or", "xor", "mul_high")
]


@pytest.mark.parametrize("name", SMOOTH)
def test_a_derivative_is_what_differences_show(name, rng):
    low, high = DOMAINS.get(name, (0.2, 0.9))
    points = [rng.uniform(low, high, 5) for _ in range(SCALARS[name].arity)]
    if name in ("remainder", "fmod"):
        points[1] += 1

    check_gradient(lambda *xs: elementwise(name, *xs), *points)


def test_a_choice_sends_its_gradient_where_it_came_from(rng):
    condition = np.array([True, False, True])

    check_gradient(where, condition, rng.standard_normal(3), rng.standard_normal(3))


def test_equal_arguments_share_the_gradient_of_a_maximum():
    x = np.array([2.0])

    for name in ("maximum", "minimum"):
        row = SCALARS[name].gradients
        shares = [value(lambda a, b, g=g: g(a * 0.0 + 1.0, a, a, b), x, x).tolist() for g in row]
        assert shares == [[0.5], [0.5]]


@pytest.mark.parametrize("name", FLOAT_PAIRS)
@given(a=FLOATS, b=FLOATS)
def test_what_is_called_commutative_is(name, a, b):
    f = SCALARS[name].value
    a, b = np.float32(a), np.float32(b)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(f(a, b), f(b, a))


@pytest.mark.parametrize("name", [n for n, s in SCALARS.items() if s.identity is not None])
@given(a=st.floats(width=32, allow_nan=False))
def test_an_identity_changes_no_bit(name, a):
    a, identity = np.float32(a), np.float32(SCALARS[name].identity)
    with np.errstate(all="ignore"):
        assert np.float32(SCALARS[name].value(a, identity)).tobytes() == a.tobytes()


@pytest.mark.parametrize("name", [n for n, s in SCALARS.items() if s.passes_sum])
@given(a=LARGE, b=LARGE)
def test_what_lets_a_pending_sum_pass_commutes_with_it_to_the_bit(name, a, b):
    f = SCALARS[name].value
    a, b = np.float32(a), np.float32(b)

    if a + b != 0:  # the sign of a cancelled sum is the sum's own
        assert f(a + b).tobytes() == (f(a) + f(b)).tobytes()


def test_integer_division_floors_and_survives_zero():
    a, b = np.array([7, -7, 7, -7, 3]), np.array([2, 2, -2, -2, 0])

    assert value(lambda x, y: elementwise("floor_divide", x, y), a, b).tolist() == [3, -4, -4, 3, 0]
    assert value(lambda x, y: elementwise("remainder", x, y), a, b).tolist() == [1, 1, -1, -1, 0]


def test_integer_powers_wrap_and_negative_exponents_round_to_zero():
    base, exponent = np.array([3, 2, 1, -1, -1, 5]), np.array([41, 64, -3, -3, -2, -1])

    powers = value(lambda x, y: elementwise("pow", x, y), base, exponent)

    assert powers.tolist() == [(3**41 + 2**63) % 2**64 - 2**63, 0, 1, -1, 1, 0]


def test_the_error_function_is_right_to_rounding():
    known = {0.5: 0.5204998778130465, 1.0: 0.8427007929497149, 4.0: 0.9999999845827421}

    for x, y in known.items():
        assert value(lambda n: elementwise("erf", n), np.array([x, -x])) == pytest.approx(
            [y, -y], rel=1e-15
        )
