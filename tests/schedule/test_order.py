"""Barriers: every call waits for whom it must, and for nobody else."""

from __future__ import annotations

from itertools import pairwise

import pytest

from gnomon.schedule.order import Span, Touch, barriers
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit

spans = st.builds(
    lambda memory, start, size: Span(memory, start, start + size),
    st.sampled_from("ab"),
    st.integers(0, 6),
    st.integers(1, 3),
)
some = st.lists(spans, max_size=2).map(tuple)
calls = st.lists(st.builds(Touch, some, some), max_size=8)


def meet(a: Span, b: Span) -> bool:
    """Whether two spans have a byte in common."""
    return a.memory == b.memory and a.start < b.end and b.start < a.end


def clash(a: Touch, b: Touch) -> bool:
    """Whether two calls may not run at the same time."""
    pairs = [(a.writes, b.writes), (a.writes, b.reads), (a.reads, b.writes)]
    return any(meet(x, y) for left, right in pairs for x in left for y in right)


def groups(waits: list[bool]) -> list[range]:
    """The calls between barriers."""
    cuts = [0, *(k for k, wait in enumerate(waits) if wait and k), len(waits)]
    return [range(a, b) for a, b in pairwise(cuts)]


@given(calls)
def test_calls_between_barriers_do_not_clash(touched: list[Touch]):
    for group in groups(barriers(touched)):
        for k in group:
            assert not any(clash(touched[j], touched[k]) for j in range(group.start, k))


@given(calls)
def test_every_barrier_is_needed(touched: list[Touch]):
    found = groups(barriers(touched))

    for before, after in pairwise(found):
        assert any(clash(touched[k], touched[after.start]) for k in before)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Touch((Span("a", 0, 8),), ()), Touch((), (Span("a", 4, 6),))),
        (Touch((), (Span("a", 0, 8),)), Touch((Span("a", 7, 9),), ())),
        (Touch((Span("a", 0, 8),), ()), Touch((Span("a", 0, 8),), ())),
    ],
    ids=["read after write", "write after read", "write after write"],
)
def test_each_kind_of_clash_waits(first: Touch, second: Touch):
    assert barriers([first, second]) == [False, True]


def test_readers_of_the_same_bytes_do_not_wait():
    both = Touch((), (Span("a", 0, 8),))

    assert barriers([both, both]) == [False, False]


def test_neighbours_do_not_meet():
    assert not meet(Span("a", 0, 8), Span("a", 8, 9))
    assert not meet(Span("a", 0, 8), Span("b", 0, 8))
