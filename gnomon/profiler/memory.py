"""Memory over time, and the buffers alive at its peak with the lines that made them.

It is computed from the allocations in a profile; buffers from before the profile are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from gnomon.profiler.model import Event, Line, Profile
from gnomon.profiler.shares import NOWHERE

__all__ = ["Live", "Memory", "memory_timeline"]


class Live(Struct):
    """A buffer that was alive at the peak, and the nanosecond since which it was."""

    name: str
    nbytes: int
    since: int
    line: Line


class Memory(Struct):
    """The live bytes after each change, the peak, and the buffers alive at it, largest first."""

    times: list[int]
    live: list[int]
    peak: int = 0
    at: int = 0
    buffers: list[Live] = []

    def __repr__(self) -> str:
        return f"Memory(peak={self.peak}, at={self.at}, {len(self.buffers)} buffers alive)"

    @property
    def lines(self) -> dict[tuple[str, int], int]:
        """The bytes alive at the peak by (file, line), the most first."""
        found: dict[tuple[str, int], int] = {}
        for each in self.buffers:
            key = (each.line.file, each.line.line)
            found[key] = found.get(key, 0) + each.nbytes
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def memory_timeline(profile: Profile) -> Memory:
    """The live bytes over time, and the buffers alive at the peak."""
    made = Memory([], [])
    changes = list(changes_of(profile.events))
    total, last = 0, -1
    for number, (time, nbytes, _) in enumerate(changes):
        total += nbytes
        made.times.append(time)
        made.live.append(total)
        if total > made.peak:
            made.peak, made.at, last = total, time, number
    made.buffers = alive_buffers(profile, changes[: last + 1])
    return made


def changes_of(events: Sequence[Event]) -> Iterator[tuple[int, int, Event]]:
    """Yield (time, change in bytes, allocation event) of each allocation and free."""
    known: dict[object, Event] = {}
    for event in events:
        key = event.args.get("buffer", event.name)
        if event.kind == "alloc":
            known[key] = event
            yield event.start, event.nbytes, event
        elif event.kind == "free" and key in known:
            given = known.pop(key)
            yield event.start, -given.nbytes, given


def alive_buffers(profile: Profile, changes: Sequence[tuple[int, int, Event]]) -> list[Live]:
    """The buffers that were allocated and not freed during some changes, the largest first."""
    here: dict[int, Event] = {}
    for _, nbytes, event in changes:
        if nbytes >= 0:
            here[id(event)] = event
        else:
            here.pop(id(event), None)
    found = [
        Live(e.name, e.nbytes, e.start, (profile.lines_of(e) or (NOWHERE,))[0])
        for e in here.values()
    ]
    return sorted(found, key=lambda each: -each.nbytes)
