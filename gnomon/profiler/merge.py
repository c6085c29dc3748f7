"""Put the profiles of several ranks on one clock, so that one trace shows them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from gnomon.errors import ArgumentError
from gnomon.profiler.model import Profile

__all__ = ["Part", "meetings", "merge"]

Part = tuple[int, int]
"""The index of a profile, and of an event in it."""


def merge(profiles: Sequence[Profile]) -> list[Profile]:
    """The profiles ordered by rank, with their events on rank 0's clock.

    >>> from gnomon.profiler.model import Event, MachineLimits, Profile
    >>> cpu = MachineLimits("cpu", 1, 1.0, 1.0)
    >>> late = Profile(cpu, events=[Event("step", "step", 10, 20)], rank=1, world=2, clock_offset=5)
    >>> [event.start for event in merge([late, Profile(cpu, world=2)])[1].events]
    [15]
    """
    ranks = sorted(profiles, key=lambda profile: profile.rank)
    numbers = [profile.rank for profile in ranks]
    if len(set(numbers)) < len(numbers):
        raise ArgumentError(f"merge: ranks repeat: {numbers}. Give one profile of each rank.")
    early = min(
        (event.start + profile.clock_offset for profile in ranks for event in profile.events),
        default=0,
    )
    return [on_clock(profile, -min(0, early)) for profile in ranks]


def on_clock(profile: Profile, later: int) -> Profile:
    """A profile with its events shifted to rank 0's clock, plus `later` nanoseconds."""
    shift = profile.clock_offset + later
    events = profile.events
    if shift:
        events = [replace(x, start=x.start + shift, end=x.end + shift) for x in events]
    return replace(profile, events=events, clock_offset=-later)


def meetings(profiles: Sequence[Profile]) -> list[list[Part]]:
    """The collectives that several ranks recorded: their events, in order of the ranks' arrival.

    Ranks of a group run one program, so the n-th collective of a name is the same on all of them.
    If its events do not overlap, because clocks or beginnings differ, it is left out.
    """
    found: dict[tuple[object, ...], list[tuple[int, int, int, int]]] = {}
    for place, profile in enumerate(profiles):
        counts: Counter[tuple[object, ...]] = Counter()
        for k, event in enumerate(profile.events):
            if event.kind == "comm" and "group" in event.args:
                what = (event.name, event.args["group"])
                number = counts[event.thread, what]
                counts[event.thread, what] += 1
                part = (event.start, place, k, event.end)
                found.setdefault((what, number), []).append(part)
    met = (sorted(parts) for parts in found.values() if len(parts) > 1)
    return [
        [(place, k) for _, place, k, _ in parts]
        for parts in met
        if parts[-1][0] <= min(end for *_, end in parts)
    ]
