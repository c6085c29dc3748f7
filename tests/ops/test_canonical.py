"""How an axis is cut into leaves: by its role and its size alone."""

from __future__ import annotations

import pytest

from gnomon.ops.canonical import (
    CONTRACTED,
    OTHERS,
    ROWS,
    SEQUENCE,
    leaves,
    role_in_contract,
    role_in_reduce,
)
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit

ROLES = st.sampled_from([ROWS, SEQUENCE, OTHERS, CONTRACTED])


@given(size=st.integers(1, 1 << 20), role=ROLES)
def test_leaves_are_equal_and_large_enough_and_a_power_of_two(size, role):
    count = leaves(size, role)

    assert count & (count - 1) == 0
    assert size % count == 0
    assert count == 1 or any(count <= most and size // count >= small for small, most in role)


@given(size=st.integers(1, 1 << 20), role=ROLES)
def test_there_are_as_many_leaves_as_the_rules_allow(size, role):
    twice = 2 * leaves(size, role)

    assert size % twice or all(twice > most or size // twice < small for small, most in role)


def test_the_outermost_axis_is_rows_and_the_innermost_is_not():
    assert role_in_reduce(0, 3) == ROWS
    assert role_in_reduce(1, 3) == SEQUENCE
    assert role_in_reduce(2, 3) == OTHERS


def test_a_summed_letter_is_what_it_is_in_both_operands():
    weight_gradient = role_in_contract(0, 0, 2, 2)
    tokens_of_a_weight_gradient = role_in_contract(1, 1, 3, 3)
    hidden = role_in_contract(2, 0, 3, 2)

    assert weight_gradient == ROWS
    assert tokens_of_a_weight_gradient == SEQUENCE
    assert hidden == CONTRACTED
