"""The memory plan: what lives together never overlaps, and little is wasted."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.schedule.memory import ALIGN, Life, plan_memory

pytestmark = pytest.mark.unit

ends = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)
lives = st.lists(st.builds(lambda n, e: Life(n, *e), st.integers(1, 5000), ends), max_size=12)


@given(lives)
def test_values_alive_together_never_overlap(given_lives: list[Life]):
    plan = plan_memory(given_lives)
    placed = zip(plan.offsets, given_lives, strict=True)

    for (at, a), (there, b) in combinations(placed, 2):
        together = a.first <= b.last and b.first <= a.last
        assert not together or at + a.nbytes <= there or there + b.nbytes <= at


@given(lives)
def test_every_value_is_aligned_and_inside(given_lives: list[Life]):
    plan = plan_memory(given_lives)

    for at, life in zip(plan.offsets, given_lives, strict=True):
        assert at % ALIGN == 0
        assert at + life.nbytes <= plan.total


@given(lives)
def test_the_block_is_between_the_bound_and_the_sum(given_lives: list[Life]):
    plan = plan_memory(given_lives)

    assert plan.bound <= plan.total <= sum(-(-x.nbytes // ALIGN) * ALIGN for x in given_lives)


def test_a_chain_of_equal_values_needs_two():
    chain = [Life(640, k, k + 1) for k in range(9)]

    assert plan_memory(chain).total == plan_memory(chain).bound == 1280


def test_nothing_needs_nothing():
    assert plan_memory([]).total == 0


def test_an_heir_lies_where_its_operand_did():
    chain = [Life(640, k, k + 1) for k in range(9)]
    plan = plan_memory(chain, [(k + 1, k) for k in range(8)])

    assert plan.total == plan.bound == 640
    assert set(plan.offsets) == {0}


@given(lives)
def test_heirs_and_others_never_overlap(given_lives: list[Life]):
    order = sorted(given_lives, key=lambda x: x.first)
    heirs = {}
    for k, life in enumerate(order):
        for j in range(k):
            fits = order[j].last == life.first > order[j].first and order[j].nbytes == life.nbytes
            if fits and j not in heirs.values():
                heirs[k] = j
    plan = plan_memory(order, heirs.items())

    for (j, a), (k, b) in combinations(enumerate(order), 2):
        together = a.first <= b.last and b.first <= a.last
        there, here = plan.offsets[j], plan.offsets[k]
        apart = there + a.nbytes <= here or here + b.nbytes <= there
        assert not together or apart or (heirs.get(k) == j and there == here)
