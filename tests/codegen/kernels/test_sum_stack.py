"""The stack of partial sums: how deep it is for summed letters."""

from __future__ import annotations

import pytest

from gnomon.codegen.kernels.sum_stack import deepest


@pytest.mark.parametrize(
    ("letters", "most"),
    [([], 1), ([(5, 1)], 1), ([(512, 4)], 2), ([(4096, 16)], 4), ([(3, 1), (256, 2)], 2)],
)
def test_the_stack_has_room_for_what_waits(letters, most):
    assert deepest(letters) >= most
