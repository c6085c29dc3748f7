"""Gather, scatter and sort: numpy's values, each other's gradients, positions that are checked."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32, int64
from gnomon.errors import DtypeError, IndexOutOfBounds, ShapeError
from gnomon.ir.node import Arena
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from tests.graphs import check_gradient, value

pytestmark = pytest.mark.unit


def test_rows_are_looked_up(rng):
    table, index = rng.standard_normal((7, 3)), np.array([[6, 0], [2, 2]])

    y = value(lambda x, i: gather("vd,bt->btd", x, i), table, index)

    assert np.array_equal(y, table[index])


def test_an_element_per_row_is_looked_up(rng):
    x, index = rng.standard_normal((3, 5)), np.array([4, 0, 2])

    assert np.array_equal(
        value(lambda x, i: gather("bv,b->b", x, i), x, index), x[[0, 1, 2], index]
    )


def test_values_that_meet_are_folded(rng):
    values, index = rng.standard_normal((4, 3)), np.array([1, 0, 1, 4])

    y = value(lambda v, i: scatter("add", "td,t->vd", v, i, 5), values, index)

    expected = np.zeros((5, 3))
    np.add.at(expected, index, values)
    np.testing.assert_allclose(y, expected)


def test_untouched_places_hold_the_identity():
    y = value(
        lambda v, i: scatter("max", "t,t->v", v, i, 3), np.array([2.0, 5.0]), np.array([1, 1])
    )

    assert y.tolist() == [-np.inf, 5.0, -np.inf]


def test_gather_and_scatter_are_each_others_gradients(rng):
    index = np.array([[3, 0, 3]])

    check_gradient(lambda x, i: gather("vd,bt->btd", x, i), rng.standard_normal((4, 2)), index)
    check_gradient(
        lambda v, i: scatter("add", "btd,bt->vd", v, i, 4), rng.standard_normal((1, 3, 2)), index
    )


@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_position_outside_is_named(wrong):
    with pytest.raises(IndexOutOfBounds, match=f"gather: position {wrong} is outside .* size 4"):
        value(lambda x, i: gather("v,b->b", x, i), np.zeros(4), np.array([wrong]))
    with pytest.raises(IndexOutOfBounds, match=f"scatter: position {wrong} is outside"):
        value(lambda v, i: scatter("add", "b,b->v", v, i, 4), np.zeros(1), np.array([wrong]))


def test_positions_are_integers_and_sizes_agree():
    arena = Arena()
    table = arena.input((4, 3), float32)

    with pytest.raises(DtypeError, match="positions must be integers: got float32"):
        gather("vd,b->bd", table, arena.input((2,), float32))
    with pytest.raises(ShapeError, match="axis b of bv,b->b differs"):
        gather("bv,b->b", table, arena.input((5,), int64))


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_and_puts_nan_at_the_large_end(descending):
    x = np.array([2.0, np.nan, 1.0, 2.0, 1.0])

    order = value(lambda n: sort_positions(n, 0, descending), x)

    assert order.tolist() == ([1, 0, 3, 2, 4] if descending else [2, 4, 0, 3, 1])
