"""Where the events of a profile are drawn: lanes, launches, live bytes.

Viewers draw the slices of a lane as nested boxes and drop what overlaps without nesting, so what a
thread did at once lies in lanes side by side. How a lane is written is the exports' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from gnomon.profiler.model import Event, Profile

__all__ = ["Lane", "Layout", "arrange"]

LAUNCHES = frozenset({"span", "step"})
LAUNCHED = frozenset({"kernel", "comm", "copy"})
POINTS = frozenset({"alloc", "free"})


@dataclass(frozen=True)
class Lane:
    """A row of nested slices; a thread's first has number 0, and others lie beside it."""

    thread: int
    number: int

    @property
    def name(self) -> str:
        """What a viewer calls it."""
        beside = f", beside it {self.number}" if self.number else ""
        return f"thread {self.thread}{beside}"


def nothing() -> np.ndarray:
    """No numbers."""
    return np.zeros(0, dtype=np.int64)


@dataclass
class Layout:
    """Where each event goes, by its number in the profile.

    walk: k begins and ~k ends; in the order of time within each lane, outer slices before inner
    ones. lane: of every event, a number in lanes. launch: of what a span or step started, that
    event, else -1. live: bytes after each allocation, beside the moments of live_at; none
    is below 0.
    """

    starts: np.ndarray
    ends: np.ndarray
    kinds: list[str]
    lane: list[int]
    launch: list[int]
    lanes: list[Lane] = field(default_factory=list)
    walk: list[int] = field(default_factory=list)
    live: np.ndarray = field(default_factory=nothing)
    live_at: np.ndarray = field(default_factory=nothing)

    def launched(self) -> dict[int, list[int]]:
        """The events that each launch started."""
        found: dict[int, list[int]] = {}
        for k, launch in enumerate(self.launch):
            if launch >= 0:
                found.setdefault(launch, []).append(k)
        return found


def arrange(profile: Profile) -> Layout:
    """Give every event a lane and what was launched its launch, in one walk over time."""
    events = profile.events
    layout = empty_layout(events)
    order = np.lexsort((-layout.ends, layout.starts)).tolist()
    threads: dict[int, list[Row]] = {}
    sweep = Sweep(layout, layout.starts.tolist(), layout.ends.tolist())
    walk = layout.walk
    for k in order:
        event = events[k]
        rows = threads.get(event.thread)
        if rows is None:
            rows = threads[event.thread] = [Row(sweep.lane(event.thread, 0))]
        if event.kind in POINTS and event.end <= event.start:
            layout.lane[k] = rows[0].lane
            walk.append(k)
        else:
            sweep.place(k, event, rows)
    for rows in threads.values():
        for row in rows:
            walk.extend(~k for k in reversed(row.open))
    note_live_bytes(layout, events, order)
    return layout


def empty_layout(events: Sequence[Event]) -> Layout:
    """The columns that need no walk; no event ends before it starts or starts before zero."""
    starts = np.array([event.start for event in events], dtype=np.int64)
    ends = np.maximum(np.array([event.end for event in events], dtype=np.int64), starts)
    early = min(0, int(starts.min(initial=0)))
    unknown = [-1] * len(events)
    kinds: list[str] = [event.kind for event in events]
    return Layout(starts - early, ends - early, kinds, [0] * len(events), unknown)


class Row:
    """A lane while it is walked: its open slices, and the launch that each lies in."""

    __slots__ = ("lane", "launch", "open")

    def __init__(self, lane: int) -> None:
        self.lane = lane
        self.open: list[int] = []
        self.launch: list[int] = []


class Sweep:
    """The walk's state that all threads share."""

    def __init__(self, layout: Layout, starts: list[int], ends: list[int]) -> None:
        self.layout, self.starts, self.ends = layout, starts, ends
        self.launches: list[int] = []

    def lane(self, thread: int, number: int) -> int:
        """A new lane of a thread."""
        self.layout.lanes.append(Lane(thread, number))
        return len(self.layout.lanes) - 1

    def place(self, k: int, event: Event, rows: list[Row]) -> None:
        """Begin a slice in the row where it nests."""
        start, end, ends = self.starts[k], self.ends[k], self.ends
        walk = self.layout.walk
        for row in rows:
            inside = row.open
            while inside and ends[inside[-1]] <= start:
                walk.append(~inside.pop())
                row.launch.pop()
        row = rows[0]
        if len(rows) > 1 or (row.open and ends[row.open[-1]] < end):
            row = self.choose(end, event.thread, rows)
        outer = row.launch[-1] if row.open else -1
        kind = event.kind
        if kind in LAUNCHES:
            self.launches.append(k)
            row.launch.append(k)
        else:
            row.launch.append(outer)
            if kind in LAUNCHED:
                self.layout.launch[k] = outer if outer >= 0 else self.elsewhere(start)
        row.open.append(k)
        self.layout.lane[k] = row.lane
        walk.append(k)

    def choose(self, end: int, thread: int, rows: list[Row]) -> Row:
        """The row whose open slice holds the new one most closely, else an empty row."""
        holding = [row for row in rows if row.open and self.ends[row.open[-1]] >= end]
        if holding:
            return max(holding, key=lambda row: self.starts[row.open[-1]])
        for row in rows:
            if not row.open:
                return row
        rows.append(Row(self.lane(thread, len(rows))))
        return rows[-1]

    def elsewhere(self, start: int) -> int:
        """The last launch that is still open on any thread, for work that another thread does."""
        self.launches = [k for k in self.launches if self.ends[k] > start]
        return self.launches[-1] if self.launches else -1


def note_live_bytes(layout: Layout, events: Sequence[Event], order: Sequence[int]) -> None:
    """Write down the bytes that live after each allocation and release, and when."""
    moves = [k for k in order if events[k].kind in POINTS]
    change = [events[k].nbytes * (1 if events[k].kind == "alloc" else -1) for k in moves]
    live = np.cumsum(np.array(change, dtype=np.int64))
    # what is released here and was allocated before the profile lived from its start
    layout.live = live - live.min(initial=0)
    layout.live_at = layout.starts[moves]
