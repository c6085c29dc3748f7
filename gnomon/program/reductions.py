"""Bounds of reductions: the number of them that may be under way at once, and its costs.

The operand of a reduction stays until all ranks have it. Where a unit says so, what a reduction
sends is computed only when the n-th reduction before it has been folded, so that at most n operands
are there. A simulated run says what each n costs, and chooses one where that is left open.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from gnomon.program.overlap import Overlap, TimedCall, dependents, needed, overlapped, reached

__all__ = ["AUTO", "BoundedRun", "reductions_bounded", "runs_by_bound"]

AUTO = "auto"


class BoundedRun(NamedTuple):
    """A simulated run with a bound of concurrent reductions: times, operands' bytes."""

    bound: int
    makespan: float
    stall: float
    nbytes: int

    def __str__(self) -> str:
        times = f"{1e3 * self.makespan:.3f} ms, {1e3 * self.stall:.3f} of it waiting"
        return f"{self.bound} reductions under way: {times}; operands of {self.nbytes:,} bytes"


def reductions_bounded(works: Sequence[TimedCall]) -> tuple[list[int], tuple[BoundedRun, ...]]:
    """The order of calls; and the runs that were compared, if the bound is automatic."""
    limits = {x.reduces.bound for x in works if x.reduces} - {0}
    if not limits:
        return overlapped(works), ()
    runs = tuple(runs_by_bound(works)) if AUTO in limits else ()
    return Overlap(works, with_bound(works, choose_bound(runs))).order(), runs


def choose_bound(runs: Sequence[BoundedRun]) -> int:
    """The smallest bound that is as fast as the largest one."""
    return next((x.bound for x in runs if x.stall <= runs[-1].stall), 0)


def runs_by_bound(
    works: Sequence[TimedCall], seconds: Sequence[float] | None = None
) -> Iterator[BoundedRun]:
    """Simulated runs with bounds of one, two, ... reductions, until unbounded speed is reached.

    seconds: the time of each call, if not by the model.
    """
    every = sum(1 for x in works if x.reduces)
    free = run(works, needed(works), every, seconds)
    for bound in range(1, every):
        found = run(works, with_bound(works, bound), bound, seconds)
        yield found
        if found.stall <= free.stall:
            break
    yield free


def run(
    works: Sequence[TimedCall],
    needs: Sequence[set[int]],
    bound: int,
    seconds: Sequence[float] | None,
) -> BoundedRun:
    """A simulated run with a bound."""
    clock = Overlap(works, needs, seconds)
    order = clock.order()
    makespan = max(clock.clock, clock.wire)
    return BoundedRun(bound, makespan, sum(clock.stalls), most_under_way(works, order))


def most_under_way(works: Sequence[TimedCall], order: Sequence[int]) -> int:
    """The most operand bytes under way at once, each until its result is first read."""
    ends = Ends(works)
    place = {k: at for at, k in enumerate(order)}
    steps = [0] * (len(order) + 1)
    for k, work in enumerate(works):
        if work.reduces:
            readers = [place[j] for j in ends.readers[k]]
            steps[min((place[j] for j in ends.makers[k]), default=0)] += work.reduces.nbytes
            steps[min(readers, default=len(order))] -= work.reduces.nbytes
    most = alive = 0
    for step in steps:
        alive += step
        most = max(most, alive)
    return most


class Ends:
    """For each reduction, the calls that make its operand, and those that read its result."""

    def __init__(self, works: Sequence[TimedCall]) -> None:
        writers: dict[Hashable, list[int]] = {}
        users: dict[Hashable, list[int]] = {}
        for k, work in enumerate(works):
            for x in work.writes:
                writers.setdefault(x, []).append(k)
            for x in work.reads:
                users.setdefault(x, []).append(k)
        self.makers, self.readers = {}, {}
        for k, work in enumerate(works):
            if work.reduces:
                self.makers[k] = [j for x in work.reads for j in writers.get(x, ())]
                self.readers[k] = [j for x in work.writes for j in users.get(x, ())]


def with_bound(works: Sequence[TimedCall], auto: int) -> list[set[int]]:
    """The dependences of calls with bounded reductions, by their units' bounds or by `auto`.

    Reductions are ordered as in a run without bounds. Calls that need the pending gradient, such as
    the norm of all, are not waited for.
    """
    needs, ends = needed(works), Ends(works)
    order = [k for k in overlapped(works) if works[k].reduces]
    feeds = dependents(needs)
    for at, k in enumerate(order):
        bound = bound_of(works[k], auto)
        if 0 < bound <= at:
            first = {*ends.readers[order[at - bound]]} - reached(ends.makers[k], feeds)
            for maker, j in product(ends.makers[k], first):
                needs[maker].add(j)
                feeds[j].add(maker)
    return needs


def bound_of(work: TimedCall, auto: int) -> int:
    """The bound of a reduction; 0 if there is none."""
    assert work.reduces, "only what reduces gradients is bounded"
    return auto if isinstance(work.reduces.bound, str) else work.reduces.bound
