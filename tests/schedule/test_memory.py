"""The memory plan: what lives together never overlaps, and little is wasted."""

from __future__ import annotations

from itertools import combinations

import pytest

from gnomon.schedule.memory import ALIGN, LiveInterval, plan_memory
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit

ends = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)
intervals = st.lists(
    st.builds(lambda n, e: LiveInterval(n, *e), st.integers(1, 5000), ends), max_size=12
)


@given(intervals)
def test_values_alive_together_never_overlap(given_intervals: list[LiveInterval]):
    plan = plan_memory(given_intervals)
    placed = zip(plan.offsets, given_intervals, strict=True)

    for (at, a), (there, b) in combinations(placed, 2):
        together = a.first <= b.last and b.first <= a.last
        assert not together or at + a.nbytes <= there or there + b.nbytes <= at


@given(intervals)
def test_every_value_is_aligned_and_inside(given_intervals: list[LiveInterval]):
    plan = plan_memory(given_intervals)

    for at, interval in zip(plan.offsets, given_intervals, strict=True):
        assert at % ALIGN == 0
        assert at + interval.nbytes <= plan.total


@given(intervals)
def test_the_block_is_between_the_bound_and_the_sum(given_intervals: list[LiveInterval]):
    plan = plan_memory(given_intervals)

    assert plan.bound <= plan.total <= sum(-(-x.nbytes // ALIGN) * ALIGN for x in given_intervals)


def first_fit(given_intervals: list[LiveInterval]) -> tuple[int, ...]:
    """Offsets by the definition: largest first, each at the lowest place that is free."""
    at: dict[int, int] = {}
    for k in sorted(
        range(len(given_intervals)),
        key=lambda k: (-given_intervals[k].nbytes, given_intervals[k].first),
    ):
        own, place = given_intervals[k], 0
        size = -(-own.nbytes // ALIGN) * ALIGN
        alive = [j for j in at if not disjoint_in_time(given_intervals[j], own)]
        for j in sorted(alive, key=at.__getitem__):
            end = at[j] + -(-given_intervals[j].nbytes // ALIGN) * ALIGN
            if place + size > at[j]:
                place = max(place, end)
            else:
                break
        at[k] = place
    return tuple(at[k] for k in range(len(given_intervals)))


def disjoint_in_time(a: LiveInterval, b: LiveInterval) -> bool:
    """Whether two values are never alive together."""
    return a.last < b.first or b.last < a.first


@given(intervals)
def test_places_are_those_of_first_fit(given_intervals: list[LiveInterval]):
    assert plan_memory(given_intervals).offsets == first_fit(given_intervals)


def test_a_chain_of_equal_values_needs_two():
    chain = [LiveInterval(640, k, k + 1) for k in range(9)]

    assert plan_memory(chain).total == plan_memory(chain).bound == 1280


def test_nothing_needs_nothing():
    assert plan_memory([]).total == 0


def test_an_heir_lies_where_its_operand_did():
    chain = [LiveInterval(640, k, k + 1) for k in range(9)]
    plan = plan_memory(chain, [(k + 1, k) for k in range(8)])

    assert plan.total == plan.bound == 640
    assert set(plan.offsets) == {0}


@given(intervals)
def test_heirs_and_others_never_overlap(given_intervals: list[LiveInterval]):
    order = sorted(given_intervals, key=lambda x: x.first)
    heirs = {}
    for k, interval in enumerate(order):
        for j in range(k):
            fits = (
                order[j].last == interval.first > order[j].first
                and order[j].nbytes == interval.nbytes
            )
            if fits and j not in heirs.values():
                heirs[k] = j
    plan = plan_memory(order, heirs.items())

    for (j, a), (k, b) in combinations(enumerate(order), 2):
        together = a.first <= b.last and b.first <= a.last
        there, here = plan.offsets[j], plan.offsets[k]
        apart = there + a.nbytes <= here or here + b.nbytes <= there
        assert not together or apart or (heirs.get(k) == j and there == here)
