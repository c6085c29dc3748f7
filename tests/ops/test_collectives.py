"""Collectives as nodes: shapes, letters, and gradients that are collectives again."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.errors import LayoutError
from gnomon.ir.node import PRIMITIVES, Arena
from gnomon.ops.collectives import (
    COLLECTIVES,
    all_gather,
    all_reduce,
    all_to_all,
    permute_ranks,
    reduce_scatter,
)
from tests.gradients import gradients

pytestmark = pytest.mark.unit


def leaf():
    return Arena().input((4, 6), float32, "x")


MADE = {
    "all_reduce": (lambda x: all_reduce(x, "a", 2), (4, 6), "all_reduce"),
    "all_gather": (lambda x: all_gather(x, 1, "a", 2), (4, 12), "reduce_scatter"),
    "reduce_scatter": (lambda x: reduce_scatter(x, 0, "a", 2), (2, 6), "all_gather"),
    "all_to_all": (lambda x: all_to_all(x, 0, 1, "a", 2), (2, 12), "all_to_all"),
    "permute_ranks": (lambda x: permute_ranks(x, 1, "a", 2), (4, 6), "permute_ranks"),
}


def test_every_collective_is_here():
    assert set(MADE) == COLLECTIVES


@pytest.mark.parametrize("name", MADE)
def test_shape_and_gradient(name):
    make, shape, back = MADE[name]
    x = leaf()
    y = make(x)

    (g,) = gradients(y, x.arena.input(y.shape, float32, "g"), [x])

    assert y.shape == shape
    assert (g.op, g.shape) == (back, x.shape)


def test_only_the_axes_that_are_cut_or_joined_stay_whole():
    signature = PRIMITIVES["all_to_all"].signature(all_to_all(leaf(), 0, 1, "a", 2))

    assert signature.whole == {"i0", "i1"}
    assert not PRIMITIVES["all_reduce"].signature(all_reduce(leaf(), "a", 2)).whole


def test_parts_of_unequal_sizes_are_refused():
    with pytest.raises(LayoutError, match="4 ranks of mesh axis 'a' do not divide axis 1"):
        reduce_scatter(leaf(), 1, "a", 4)
