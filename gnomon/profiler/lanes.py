"""Arrange a profile's events in lanes, the rows in which a trace viewer draws them.

Viewers draw the slices of a lane as nested boxes and drop slices that overlap without nesting, so
overlapping work of a thread is put in several lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gnomon.profiler.model import Event, Profile

__all__ = ["LANES", "Lane", "LaneLayout", "arrange"]

PLAIN, LAUNCH, LAUNCHED, POINT = range(4)
SORTS = {
    "step": LAUNCH,
    "span": LAUNCH,
    "kernel": LAUNCHED,
    "comm": LAUNCHED,
    "copy": LAUNCHED,
    "alloc": POINT,
    "free": POINT,
}
"""The shape of each kind of event; unlisted kinds are plain slices."""

LANES = 1000
"""A factor of thread numbers that keeps them distinct from process numbers."""


@dataclass(frozen=True)
class Lane:
    """A row of nested slices; number 0 is the thread's first, others hold overlapping slices."""

    thread: int
    number: int
    called: str = ""

    @property
    def name(self) -> str:
        """The lane's name in a viewer."""
        beside = f", beside it {self.number}" if self.number else ""
        return f"{self.called or f'thread {self.thread}'}{beside}"


@dataclass
class LaneLayout:
    """The lane of each event, by its index in the profile.

    sorts: how each event is drawn. lane: the index of each event's lane. launch: the event that
    launched each event, else -1. walk: k for the begin and ~k for the end of event k, in order of
    time within a lane, outer slices before inner ones; a point only begins. live: live bytes after
    each allocation or free, at the times live_at, never below 0.
    """

    starts: np.ndarray
    ends: np.ndarray
    sorts: np.ndarray
    lane: np.ndarray
    launch: np.ndarray
    lanes: list[Lane]
    walk: np.ndarray
    live: np.ndarray
    live_at: np.ndarray

    def arrows(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of events that each event launched, and the launched ones by launcher."""
        (launched,) = np.nonzero(self.launch >= 0)
        by = self.launch[launched]
        return np.bincount(by, minlength=len(self.launch)), launched[np.argsort(by, kind="stable")]


def arrange(profile: Profile) -> LaneLayout:
    """Assign a lane to every event and a launching event to launched work."""
    events = profile.events
    starts = np.array([event.start for event in events], dtype=np.int64)
    ends = np.maximum(np.array([event.end for event in events], dtype=np.int64), starts)
    early = min(0, int(starts.min(initial=0)))
    starts, ends = starts - early, ends - early
    sorts = np.array([SORTS.get(event.kind, PLAIN) for event in events], dtype=np.int64)
    order = np.lexsort((-ends, starts))
    moves = order[sorts[order] == POINT]
    sorts[(sorts == POINT) & (ends > starts)] = PLAIN
    live = live_bytes([events[k] for k in moves.tolist()])
    threads = np.array([event.thread for event in events], dtype=np.int64)
    walk = Walk(starts.tolist(), ends.tolist(), sorts.tolist())
    for thread in np.unique(threads).tolist():
        called = profile.threads.get(thread, "")
        walk.go(thread, called, order[threads[order] == thread].tolist())
    walk.go_elsewhere(order.tolist())
    lane, launch, steps = (np.array(x, np.int64) for x in (walk.lane, walk.launch, walk.steps))
    return LaneLayout(starts, ends, sorts, lane, launch, walk.lanes, steps, live, starts[moves])


class Walk:
    """Walks over events in order of time, thread by thread, to assign lanes."""

    def __init__(self, starts: list[int], ends: list[int], sorts: list[int]) -> None:
        self.starts, self.ends, self.sorts = starts, ends, sorts
        self.lane, self.launch = [0] * len(starts), [-1] * len(starts)
        # for each event, the launch that contains its inner events
        self.inner = [-1] * len(starts)
        self.lanes: list[Lane] = []
        self.steps: list[int] = []

    def go(self, thread: int, called: str, events: list[int]) -> None:
        """Assign a lane to each event of a thread, in which it nests."""
        starts, ends, sorts, inner = self.starts, self.ends, self.sorts, self.inner
        lane, launch, step = self.lane, self.launch, self.steps.append
        first = len(self.lanes)
        self.lanes.append(Lane(thread, 0, called))
        rows: list[list[int]] = [[]]
        row = rows[0]
        for k in events:
            lane[k] = first
            sort = sorts[k]
            if sort != POINT:
                start = starts[k]
                for row in rows:
                    while row and ends[row[-1]] <= start:
                        step(~row.pop())
                if len(rows) > 1 or (row and ends[row[-1]] < ends[k]):
                    number = self.choose(k, rows)
                    row, lane[k] = rows[number], first + number
                outer = inner[row[-1]] if row else -1
                inner[k] = k if sort == LAUNCH else outer
                if sort == LAUNCHED:
                    launch[k] = outer
                row.append(k)
            step(k)
        self.steps += [~k for row in rows for k in reversed(row)]
        self.lanes += [Lane(thread, number, called) for number in range(1, len(rows))]

    def choose(self, k: int, rows: list[list[int]]) -> int:
        """The row whose innermost open slice contains the new one most closely, or an empty row."""
        holding = [n for n, row in enumerate(rows) if row and self.ends[row[-1]] >= self.ends[k]]
        if holding:
            return max(holding, key=lambda number: self.starts[rows[number][-1]])
        if [] not in rows:
            rows.append([])
        return rows.index([])

    def go_elsewhere(self, order: list[int]) -> None:
        """Assign launched work outside its own thread's launches to another thread's open launch.

        The launch must have begun earlier than the work.
        """
        starts, ends, sorts, launch = self.starts, self.ends, self.sorts, self.launch
        if not any(sort == LAUNCHED and by < 0 for sort, by in zip(sorts, launch, strict=True)):
            return
        open_: list[int] = []
        for k in order:
            if sorts[k] == LAUNCH:
                open_.append(k)
            elif sorts[k] == LAUNCHED and launch[k] < 0:
                open_ = [n for n in open_ if ends[n] > starts[k]]
                began = [n for n in open_ if starts[n] < starts[k]]
                launch[k] = began[-1] if began else -1


def live_bytes(moves: Sequence[Event]) -> np.ndarray:
    """The live bytes after each allocation and free."""
    change = [event.nbytes if event.kind == "alloc" else -event.nbytes for event in moves]
    live = np.cumsum(np.array(change, dtype=np.int64))
    # what is released here and was allocated before the profile lived from its start
    return live - live.min(initial=0)
