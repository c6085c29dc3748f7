"""Which scalar is computed where: passes along a row, and what is kept between them."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen.plan_loops import LoopPlan, overwritable
from gnomon.dtypes import float64
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import permute
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


def over(*roots: Node) -> tuple[tuple[int, int], ...]:
    """Which outputs of the only kernel may lie over which operands."""
    (kernel,) = kernels(*roots)
    return overwritable(kernel)


def test_a_map_may_lie_over_what_it_reads_at_its_own_place():
    assert over(exp(leaf(5, 7))) == ((0, 1),)


def test_what_is_read_elsewhere_too_is_not_overwritten():
    x = leaf(30, 30)

    assert over(permute(x, (1, 0)) + x) == ()


def test_a_row_that_is_read_again_is_not_overwritten_before():
    x = leaf(5, 70)
    e = exp(x)
    shifted = x - unsqueeze(reduce("add", e, (1,)), 1)

    assert (0, 2) not in over(e, shifted)
    assert (1, 2) in over(e, shifted)


def test_an_operand_of_a_later_result_is_overwritten_by_an_earlier_one_that_read_it():
    x = leaf(5, 70)
    y = x.arena.input((5, 70), x.dtype)
    first, second = exp(x), exp(x) * exp(x + y)

    pairs = over(first, second)

    assert (0, 2) in pairs
    assert (0, 3) not in pairs
    assert (1, 3) in pairs


def test_what_only_an_earlier_pass_has_read_is_not_at_hand():
    x = leaf(5, 70)
    e = exp(x)
    total = unsqueeze(reduce("add", e, (1,)), 1)

    pairs = over(e * total, x - total)

    assert (0, 2) not in pairs
    assert (1, 2) in pairs


def test_wider_elements_do_not_fit():
    assert over(cast(leaf(5, 7), float64)) == ()


@pytest.mark.parametrize("rows", [1, 2, 3, 33])
def test_what_changes_inside_a_fold_of_another_axis_is_not_kept(rows):
    """The least of three sums over rows is a fold of columns, whose gradient reads each row."""
    given = np.random.default_rng(0).standard_normal((rows, 3))

    def least(x: gn.Tensor) -> gn.Tensor:
        return gn.linalg.vector_norm(gn.nn.functional.softmax(x, 0), dim=0).amin(0)

    x = gn.tensor(given, requires_grad=True)
    least(x).backward()
    numeric = np.zeros_like(given)
    for k in np.ndindex(*given.shape):
        step = np.zeros_like(given)
        step[k] = 1e-6
        numeric[k] = (least(gn.tensor(given + step)) - least(gn.tensor(given - step))).item() / 2e-6

    np.testing.assert_allclose(x.grad.numpy(), numeric, atol=1e-8)
