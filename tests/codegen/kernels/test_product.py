"""The description of a product."""

from __future__ import annotations

import pytest

from gnomon.codegen.kernels.product import Axis, MatmulSpec, count, walk

pytestmark = pytest.mark.unit


def test_each_operand_walks_a_group_in_its_own_way():
    rows = (Axis(2, a=12, c=100), Axis(3, a=4, c=7))

    assert count(rows) == 6
    assert walk(rows, "a") == ((6, 4),)
    assert walk(rows, "c") == ((2, 100), (3, 7))
    assert walk(rows, "b") == ((6, 0),)


def test_a_spec_tells_its_summed_letters_from_outside_in():
    spec = MatmulSpec("double", (), (), (), (Axis(4, leaves=4), Axis(256, leaves=2)))

    assert spec.letters == ((4, 4), (256, 2))
    assert spec.item == 8
