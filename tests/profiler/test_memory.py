"""What lives when memory is at its peak is listed with the lines that made it."""

import pytest

from gnomon.profiler.memory import memory_timeline
from gnomon.profiler.model import Event, Line, MachineLimits, Profile
from tests.drawn import given
from tests.profiler.profiles import profiles
from tests.profiler.synthetic import made_up

pytestmark = pytest.mark.unit


def profile_of(*changes) -> Profile:
    """Allocations and frees in order: (buffer, bytes), no bytes for a free."""
    events = [
        Event("alloc", f"b{n}", t, t, nbytes=size, lines=(Line("a.py", n),), args={"buffer": n})
        if size
        else Event("free", f"b{n}", t, t, args={"buffer": n})
        for t, (n, size) in enumerate(changes)
    ]
    return Profile(MachineLimits("m", 1, 1e9, 1e9), events=events)


def test_the_peak_knows_what_was_alive():
    found = memory_timeline(profile_of((1, 10), (2, 20), (1, 0), (3, 25), (4, 5), (2, 0), (5, 1)))

    assert found.live == [10, 30, 20, 45, 50, 30, 31]
    assert (found.peak, found.at) == (50, 4)
    assert [(x.name, x.nbytes, x.since) for x in found.buffers] == [
        ("b3", 25, 3),
        ("b2", 20, 1),
        ("b4", 5, 4),
    ]
    assert found.lines == {("a.py", 3): 25, ("a.py", 2): 20, ("a.py", 4): 5}


def test_what_lived_before_is_not_counted():
    found = memory_timeline(profile_of((9, 0), (1, 10), (1, 0)))

    assert found.live == [10, 0]


def test_live_buffers_add_up_to_the_peak():
    found = memory_timeline(made_up())

    assert sum(x.nbytes for x in found.buffers) == found.peak == max(found.live)
    assert min(found.live) >= 0


def test_without_allocations_there_is_no_peak():
    assert memory_timeline(profile_of()).peak == 0


@given(profiles())
def test_of_any_profile_what_lives_at_the_peak_adds_up(profile):
    found = memory_timeline(profile)

    assert sum(x.nbytes for x in found.buffers) == found.peak == max([0, *found.live])
    assert min([0, *found.live]) == 0
