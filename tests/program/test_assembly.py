"""From kernels to a plan: what a run needs, and which programs stay on their caller."""

from __future__ import annotations

import pytest

from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.scalars import exp
from gnomon.program.assembly import plan_of
from gnomon.program.saved import SavedProgram


def products(size: int, count: int) -> SavedProgram:
    """The plan of products that each need the one before."""
    arena = Arena()
    x, w = (arena.input((size, size), float32) for _ in range(2))
    found = x
    for _ in range(count):
        found = contract("ab,bc->ac", found, w)
    return plan_of(kernels_of(Graph((x, w), (found,)), context()))


@pytest.mark.parametrize(
    ("size", "count", "alone"), [(16, 4, True), (16, 99, True), (256, 1, False)]
)
def test_programs_of_tiny_kernels_stay_on_their_caller_however_many_they_are(size, count, alone):
    assert products(size, count).needs.alone is alone


def test_only_what_is_neither_given_nor_a_result_takes_memory():
    assert products(16, 1).needs.arena == 0
    assert products(16, 3).needs.arena == 2 * 16 * 16 * 4


def test_outputs_say_whether_they_are_results_or_inputs():
    arena = Arena()
    x = arena.input((3, 5), float32)
    total = reduce("add", exp(x), (1,))

    plan = plan_of(kernels_of(Graph((x,), (total, x, total)), context()))

    assert plan.returns == ((True, 0), (False, 0), (True, 0))
    assert plan.sizes == (12,)
    assert (plan.needs.inputs, plan.needs.outputs) == (1, 2)
