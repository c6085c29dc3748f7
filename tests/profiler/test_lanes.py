"""Lanes nest, and what was launched knows its launch."""

from __future__ import annotations

import pytest

from gnomon.profiler.lanes import POINT, arrange
from gnomon.profiler.model import Event, Profile
from tests.drawn import given
from tests.profiler.profiles import CPU, profiles

pytestmark = pytest.mark.unit


def of(*events: Event) -> Profile:
    """A profile of events."""
    return Profile(CPU, events=list(events))


def test_work_belongs_to_the_innermost_launch_of_its_thread():
    profile = of(
        Event("step", "step", 0, 90),
        Event("span", "run", 10, 40),
        Event("compile", "simplify", 12, 30),
        Event("kernel", "k", 15, 20),
        Event("kernel", "k", 50, 60),
    )

    assert arrange(profile).launch.tolist() == [-1, -1, -1, 1, 0]


def test_work_on_another_thread_belongs_to_the_last_launch_that_is_open():
    profile = of(
        Event("step", "step", 0, 90),
        Event("span", "done", 10, 20),
        Event("span", "run", 25, 40),
        Event("kernel", "k", 30, 45, thread=1),
        Event("kernel", "k", 95, 99, thread=1),
    )

    assert arrange(profile).launch.tolist() == [-1, -1, -1, 2, -1]


def test_work_that_begins_with_a_launch_of_another_thread_is_not_its_own():
    profile = of(
        Event("span", "train", 5, 90),
        Event("kernel", "k", 5, 9, thread=1),
        Event("kernel", "k", 6, 9, thread=2),
    )

    assert arrange(profile).launch.tolist() == [-1, -1, 0]


def test_what_was_allocated_before_the_profile_lived_from_its_start():
    profile = of(
        Event("free", "free", 1, 1, nbytes=50),
        Event("alloc", "alloc", 2, 2, nbytes=70),
    )

    assert arrange(profile).live.tolist() == [0, 70]


@given(profiles())
def test_each_lane_opens_and_closes_its_slices_in_time(profile):
    layout = arrange(profile)
    open_: dict[int, list[int]] = {}
    clock: dict[int, int] = {}
    seen: list[int] = []
    for step in layout.walk.tolist():
        k = max(step, ~step)
        lane = layout.lane[k]
        time = int(layout.starts[k] if step >= 0 else layout.ends[k])
        if step >= 0 and layout.sorts[k] == POINT:
            seen.append(k)
            continue
        assert time >= clock.get(lane, 0)
        clock[lane] = time
        if step < 0:
            assert open_[lane].pop() == k
        else:
            seen.append(k)
            open_.setdefault(lane, []).append(k)

    assert not any(open_.values())
    assert sorted(seen) == list(range(len(profile.events)))


def test_lanes_are_called_what_their_threads_are():
    profile = of(Event("step", "a", 0, 9), Event("step", "b", 5, 12), Event("kernel", "k", 1, 2, 1))
    profile.threads = {0: "main"}

    assert [lane.name for lane in arrange(profile).lanes] == [
        "main",
        "main, beside it 1",
        "thread 1",
    ]
