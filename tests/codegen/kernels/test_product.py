"""The description of a product."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.kernels.product import Axis, MatmulSpec, count, walk
from tests.codegen.kernels.operands import compile_product

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


def test_axes_without_leaves_are_one_letter_with_the_one_outside():
    steps = (Axis(4, leaves=4), Axis(6, leaves=2), Axis(5, leaves=0), Axis(3, leaves=0))

    assert MatmulSpec("double", (), (), (), steps).letters == ((4, 4), (90, 2))


@pytest.mark.parametrize("inner", [5, 16, 21, 40])
def test_columns_that_go_on_elsewhere_are_stored_where_they_belong(rng, inner):
    m, k, outer = 7, 9, 3
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, outer, inner))
    columns = (Axis(outer, b=inner, c=m * inner), Axis(inner, b=1, c=1))
    steps = (Axis(k, a=1, b=outer * inner),)
    spec = MatmulSpec("double", (), (Axis(m, a=k, c=inner),), columns, steps)
    c = np.full((outer, m, inner), np.nan)

    compile_product(spec)([c, a, b], 2)

    np.testing.assert_allclose(c, np.einsum("mk,koi->omi", a, b), rtol=1e-12)
