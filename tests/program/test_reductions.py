"""Reductions under way: exact stalls and bytes of each bound, and the one that is chosen."""

from __future__ import annotations

import random

import pytest

from gnomon.program.overlap import BoundedReduction, Overlap, TimedCall, dependencies
from gnomon.program.reductions import (
    AUTO,
    BoundedRun,
    most_under_way,
    reductions_bounded,
    runs_by_bound,
    with_bound,
)

pytestmark = pytest.mark.unit

SIZE = 100


def backward(bound: int | str, *layers: tuple[float, float]) -> tuple[list[TimedCall], list[float]]:
    """Layers one after another: each computes, packs a gradient, which is reduced, then folded.

    And the seconds of each call: a layer says those of computing and of reducing.
    """
    works: list[TimedCall] = []
    for k in range(len(layers)):
        works += [
            TimedCall((f"y{k}",), (f"sent{k - 1}",) if k else (), 0, 0),
            TimedCall((f"sent{k}",), (f"y{k}",), 0, 0),
            TimedCall(
                (f"sum{k}",), (f"sent{k}",), 0, 0, True, False, BoundedReduction(bound, SIZE)
            ),
            TimedCall((f"grad{k}",), (f"sum{k}",), 0, 0),
        ]
    # a layer serves others than its reduction
    works.append(TimedCall(("x",), tuple(f"y{k}" for k in range(len(layers))), 0, 0))
    return works, [*(x for own, moved in layers for x in (own, 0.0, moved, 0.0)), 0.0]


def stalls(bound: int, *layers: tuple[float, float]) -> list[float]:
    """The times for which the processor waits, the last for what still travels at the end."""
    works, seconds = backward(bound, *layers)
    clock = Overlap(works, with_bound(works, 0), seconds)
    clock.order()
    return clock.stalls


def test_stalls_are_exact():
    layers = [(25.0, 40.0)] * 3

    assert stalls(1, *layers) == [15.0, 15.0, 40.0]
    assert stalls(2, *layers) == stalls(0, *layers) == [30.0, 40.0]


def test_a_fourth_layer_waits_for_the_second():
    layers = [(25.0, 40.0)] * 4

    assert stalls(2, *layers) == [5.0, 40.0, 40.0]
    assert stalls(3, *layers) == [5.0, 40.0, 40.0]


def runs(*layers: tuple[float, float]) -> list[tuple[int, float, float, int]]:
    """The runs that are compared."""
    works, seconds = backward(AUTO, *layers)
    return [tuple(each) for each in runs_by_bound(works, seconds)]


def test_equal_layers_gain_nothing_by_more():
    """The wait moves to the end: one under way ends as early as all of them."""
    assert runs(*[(25.0, 40.0)] * 8) == [(1, 345.0, 145.0, SIZE), (8, 345.0, 145.0, 5 * SIZE)]


UNEVEN = [(20.0, 60.0), (60.0, 10.0), (30.0, 25.0)] * 4


def test_uneven_layers_gain_until_the_wire_is_never_waited_for():
    found = runs(*UNEVEN)

    assert [run[0] for run in found] == [1, 2, 12]
    assert [run[3] for run in found] == [SIZE, 2 * SIZE, 3 * SIZE]


def test_the_smallest_bound_that_waits_no_longer_is_chosen(monkeypatch):
    works, seconds = backward(AUTO, *UNEVEN)
    compared = tuple(runs_by_bound(works, seconds))
    monkeypatch.setattr("gnomon.program.reductions.runs_by_bound", lambda works: compared)

    order, told = reductions_bounded(works)

    assert told == compared
    assert order == Overlap(works, with_bound(works, 2)).order()
    assert most_under_way(works, order) == 2 * SIZE


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("bound", [1, 2, 3])
def test_no_more_than_the_bound_are_under_way(bound: int, seed: int):
    rng = random.Random(seed)
    layers = [(rng.uniform(1, 50), rng.uniform(1, 50)) for _ in range(9)]
    works, seconds = backward(bound, *layers)

    order = Overlap(works, with_bound(works, 0), seconds).order()

    assert sorted(order) == list(range(len(works)))
    assert most_under_way(works, order) <= bound * SIZE
    place = {k: at for at, k in enumerate(order)}
    for k, needs in enumerate(dependencies(works)):
        assert all(place[j] < place[k] for j in needs)


def test_what_needs_the_gradient_that_waits_is_not_waited_for():
    """A norm of both gradients, and an update that folds again what came: no order has all."""
    works, _ = backward(1, (1.0, 1.0), (1.0, 1.0))
    works.append(TimedCall(("new",), ("sum0", "sum1"), 0, 0))

    order = Overlap(works, with_bound(works, 0)).order()

    assert sorted(order) == list(range(len(works)))
    assert most_under_way(works, order) == SIZE


def test_a_run_tells_its_times_and_bytes():
    told = str(BoundedRun(2, 0.5, 0.125, 4096))

    assert told == (
        "2 reductions under way: 500.000 ms, 125.000 of it waiting; operands of 4,096 bytes"
    )
