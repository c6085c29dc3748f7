"""The ways between a whole value and a rank's part: shapes, gradients, refusals."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.errors import LayoutError
from gnomon.ir.node import Arena
from gnomon.ops.layouts import from_local, place, to_local
from gnomon.ops.placements import REPLICATED, Split
from tests.gradients import gradients

pytestmark = pytest.mark.unit

LAYOUT = (("data", 2, Split(0)), ("tensor", 4, Split(1)), ("other", 3, REPLICATED))


def test_shapes_are_those_of_whole_and_part():
    x = Arena().input((6, 8), float32, "x")

    assert to_local(x, LAYOUT).shape == (3, 2)
    assert from_local(x, LAYOUT).shape == (12, 32)
    assert to_local(x, ()) is x


@pytest.mark.parametrize(("way", "back"), [(from_local, "to_local"), (to_local, "from_local")])
def test_the_gradient_of_one_is_the_other(way, back):
    x = Arena().input((6, 8), float32, "x")
    y = way(x, LAYOUT)

    (g,) = gradients(y, x.arena.input(y.shape, float32, "g"), [x])

    assert (g.op, g.shape) == (back, x.shape)


def test_an_axis_that_ranks_do_not_divide_is_refused():
    x = Arena().input((6, 9), float32, "x")

    with pytest.raises(LayoutError, match="4 ranks of mesh axis 'tensor' do not divide axis 1"):
        to_local(x, LAYOUT)


def test_a_gradient_lies_as_a_wish_says_and_its_own_as_the_value():
    x = Arena().input((6, 8), float32, "x")
    there, back = (("data", 2, Split(0)),), (("data", 2, Split(1)),)
    plain, told = place(x, there), place(x, there, back=back)

    (as_it_comes,) = gradients(plain, x.arena.input(x.shape, float32, "g"), [x])
    (moved,) = gradients(told, x.arena.input(x.shape, float32, "g"), [x])

    assert as_it_comes.op == "input"
    assert (moved.op, moved.params["layout"], moved.params["back"]) == ("place", back, there)


@pytest.mark.parametrize("way", [from_local, to_local, place])
@pytest.mark.parametrize("axis", [0, None])
def test_the_number_of_an_axis_is_no_placement(way, axis):
    x = Arena().input((6, 8), float32, "x")

    with pytest.raises(LayoutError, match=f"expected Shard, Replicate or Partial: got {axis}"):
        way(x, (("data", 2, axis),))
