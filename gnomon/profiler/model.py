"""The data of a profile: plain values that reports, exports and the page read alike.

Everything is joined by number. A record tells of one call in one program; an event tells when it
ran, and names it by the record's id.
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

    record: the call that ran, if it was one. nbytes: of an allocation or a copy. lines: where the
    user asked for it, if no record says. args: of an alloc and its free, `buffer` is one number; of
    a run and its kernels, `run` is; of a collective, `group` is which ranks meet along its axis.
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
    """The processor's limits: flop per second and bytes per second, on all threads.

    caches: bytes and bandwidth of each cache, the nearest first.
    """

    name: str
    threads: Number
    flops: float
    bandwidth: float
    caches: tuple[tuple[Number, float], ...] = ()

    def bandwidth_of(self, nbytes: float) -> float:
        """The bandwidth of the nearest cache that holds so many bytes, or of memory.

        >>> MachineLimits("cpu", 1, 1e9, 1e9, ((1024, 8e9),)).bandwidth_of(1000)
        8000000000.0
        """
        return next((speed for size, speed in self.caches if nbytes <= size), self.bandwidth)


class Profile(Struct):
    """A whole profile; events in order of their start.

    clock_offset: nanoseconds to add for rank 0's clock. threads: number -> what it is called.
    code: symbol -> generated text. graphs: program -> its graph as text. sources: file -> text.
    lost: events that no longer fitted.
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
        """The call that an event is of, if it is one that is known."""
        return None if event.record is None else self.records.get(event.record)

    def lines_of(self, event: Event) -> tuple[Line, ...]:
        """The user's lines of an event: its own, or those of its call."""
        record = self.record_of(event)
        return event.lines or (record.lines if record is not None else ())
