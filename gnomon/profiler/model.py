"""The data of a profile, from which reports, exports and the page are made.

A record describes a call in a program; an event says when it ran and names the record by its id.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from gnomon.program.records import VERSION, BufferRecord, Decision, Line, Number, OpRecord, Record

__all__ = [
    "BufferRecord",
    "Decision",
    "Event",
    "Line",
    "MachineLimits",
    "OpRecord",
    "Profile",
    "Record",
]

EventKind = Literal["kernel", "span", "step", "comm", "copy", "alloc", "free", "compile", "forced"]


class Event(Struct):
    """Something that took time on a thread, in nanoseconds since the profile began.

    record: the id of the call that ran, if it was one. nbytes: the size of an allocation or a copy.
    lines: the user's lines, if no record has them. args: `buffer` is a number that an alloc and its
    free share, `run` one that a run and its kernels share, `group` the ranks of a collective.
    """

    kind: EventKind
    name: str
    start: Number
    end: Number
    thread: Number = 0
    record: Number | None = None
    nbytes: Number = 0
    lines: tuple[Line, ...] = ()
    args: dict[str, str | Number | float] = field(default_factory=dict)


class MachineLimits(Struct, frozen=True):
    """The processor's limits: flop/s and bytes/s with all threads.

    caches: the bytes and bandwidth of each cache, the nearest first.
    """

    name: str
    threads: Number
    flops: float
    bandwidth: float
    caches: tuple[tuple[Number, float], ...] = ()

    def bandwidth_of(self, nbytes: float) -> float:
        """The bandwidth of the nearest cache that holds `nbytes`, or of memory.

        >>> MachineLimits("cpu", 1, 1e9, 1e9, ((1024, 8e9),)).bandwidth_of(1000)
        8000000000.0
        """
        return next((speed for size, speed in self.caches if nbytes <= size), self.bandwidth)


class Profile(Struct):
    """A complete profile, with events in order of their start.

    clock_offset: nanoseconds to add for rank 0's clock. threads: names by number. code: generated
    code by symbol. graphs: printed graphs by program. sources: texts by file. lost: the number of
    events beyond the limit.
    """

    machine: MachineLimits
    records: dict[Number, Record] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    graphs: dict[str, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)
    threads: dict[Number, str] = field(default_factory=dict)
    rank: Number = 0
    world: Number = 1
    clock_offset: Number = 0
    lost: Number = 0
    version: Number = VERSION

    def record_of(self, event: Event) -> Record | None:
        """The record of an event's call, or None."""
        return None if event.record is None else self.records.get(event.record)

    def lines_of(self, event: Event) -> tuple[Line, ...]:
        """The user's lines of an event: its own, or those of its record."""
        record = self.record_of(event)
        return event.lines or (record.lines if record is not None else ())
