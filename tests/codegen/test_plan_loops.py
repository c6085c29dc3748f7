"""Which scalar is computed where: passes along a row, and what is kept between them."""

from __future__ import annotations

import pytest

from gnomon.codegen.plan_loops import LoopPlan
from gnomon.ir.node import Node
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from tests.schedule.kernels_of import kernels, leaf, softmax

pytestmark = pytest.mark.unit


def plan(*roots: Node) -> LoopPlan:
    """The plan of the only kernel."""
    (kernel,) = kernels(*roots)
    return LoopPlan(kernel)


def test_a_map_is_one_pass_without_folds():
    (only,) = plan(exp(leaf(5, 7))).passes

    assert not only.folds
    assert len(only.stores) == 1


def test_softmax_passes_three_times_over_its_row():
    first, second, third = plan(softmax(leaf(5, 7))).passes

    assert [f.params["monoid"] for f in (*first.folds, *second.folds)] == ["max", "add"]
    assert not third.folds
    assert len(third.stores) == 1


def test_softmax_keeps_its_exponentials_and_nothing_else():
    made = plan(softmax(leaf(5, 7)))

    (kept,) = made.kept
    assert kept.params["f"] == "exp"
    assert made.passes[1].kept == [kept]


def test_what_is_cheap_is_computed_again():
    x = leaf(5, 7)
    y = x * 2.0

    assert not plan(y / unsqueeze(reduce("add", y, (1,)), 1)).kept


def test_a_sum_of_a_row_is_stored_once_per_row():
    made = plan(reduce("add", leaf(5, 7), (1,)))

    assert len(made.row_stores) == 1
    assert not made.passes[0].stores


def folded(n: int) -> LoopPlan:
    """Exponentials, their sum and their maximum."""
    e = exp(leaf(5, n))
    return plan(e, reduce("add", e, (1,)), reduce("max", e, (1,)))


def test_independent_folds_share_a_pass():
    (only,) = folded(7).passes

    assert len(only.folds) == 2


def test_folds_of_different_leaves_do_not():
    assert [len(run.folds) for run in folded(256).passes] == [1, 1]
