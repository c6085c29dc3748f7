"""Placements: what a part's shape is, and what a move costs."""

from __future__ import annotations

import math

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.passes.layout import TIME, MeshAxis, can_be_split, local_shape, move_price

pytestmark = pytest.mark.unit

WHOLE = 4 * 12


@pytest.mark.parametrize(
    ("have", "want", "price"),
    [
        (REPLICATED, REPLICATED, 0),
        (REPLICATED, Split(0), 0),
        (Split(0), Split(0), 0),
        (Split(0), REPLICATED, WHOLE),
        (Split(0), Split(1), WHOLE / 2),
        (Partial("add"), REPLICATED, 2 * WHOLE),
        (Partial("add"), Split(0), WHOLE),
        (REPLICATED, Partial("add"), math.inf),
        (Partial("add"), Partial("max"), math.inf),
    ],
)
def test_a_move_costs_its_bytes(have, want, price):
    x = Arena().input((2, 6), float32, "x")

    assert move_price(have, want, x, MeshAxis("a", 2)) == price


def test_between_turns_a_sum_is_free():
    x = Arena().input((2, 6), float32, "x")

    assert move_price(Partial("add"), REPLICATED, x, MeshAxis("time", 2, TIME)) == 0


def test_only_a_split_changes_the_shape_and_must_divide_it():
    assert local_shape((6, 4), Split(1), 2) == (6, 2)
    assert local_shape((6, 4), Partial("add"), 2) == (6, 4)
    assert can_be_split((6, 4), Split(0), 3)
    assert not can_be_split((6, 4), Split(1), 3)
    assert not can_be_split((6,), Split(1), 1)


def test_placements_that_are_made_by_the_thousand_are_mostly_one_object():
    assert Split(1) is Split(1)
    assert Split(1) == Split(1) != Split(2)
    assert Partial() is Partial()
    assert Partial("sum") == Partial() == Partial("add") != Partial("max")
