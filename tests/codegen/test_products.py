"""Which factors a product's kernel can compute; how products read operands: test_calls.py."""

from __future__ import annotations

import pytest

from gnomon.codegen.products import SHARED, opens
from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Arena, Node
from gnomon.ops.primitives import contract
from gnomon.schedule.prologue import Factor


def product(spec: str, *shapes: tuple[int, ...]) -> Node:
    """A product of two leaves."""
    arena = Arena()
    return contract(spec, *(arena.input(shape, float32) for shape in shapes))


@pytest.mark.parametrize(("spec", "steps"), [("ab,bc->ac", 30), ("xab,bc->xac", 6)])
def test_a_factor_of_whole_rows_can_be_computed(spec: str, steps: int):
    left = (50, 30) if steps == 30 else (10, 5, 6)
    made = product(spec, left, (steps, 20))

    assert opens(made) == Factor(made.inputs[0], steps)


def test_columns_that_threads_share_are_a_reason_against():
    made = product("ab,bc->ac", (10, 30), (30, 100))

    assert opens(made) == Factor(made.inputs[0], 30, SHARED)


def test_panels_that_are_filled_several_times_are_a_reason_against():
    made = product("ab,bc->ac", (9000, 512), (512, 8000))

    assert "several times" in opens(made).refused


def test_factors_that_lie_another_way_are_not_considered():
    arena = Arena()
    x, w = arena.input((40, 40), float32), arena.input((40, 40), float32)
    narrow = arena.input((40, 40), bfloat16)

    assert opens(contract("ba,bc->ac", x, w)) is None
    assert opens(contract("hab,hbc->hac", *batched(arena))) is None
    assert opens(contract("ab,bc->ac", x, x)) is None
    assert opens(contract("ab,bc->ac", narrow, narrow)) is None


def batched(arena: Arena) -> tuple[Node, Node]:
    """Factors of three products."""
    return arena.input((3, 40, 20), float32), arena.input((3, 20, 10), float32)
