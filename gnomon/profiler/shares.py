"""Divide time among kernels that run at once, and a kernel's time among its lines.

Both rules divide all of it: the times of a report add up to the time that passed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from gnomon.profiler.model import Event, Line, Profile, Record

__all__ = ["NOWHERE", "WORK", "calls_of", "line_shares", "member_shares", "time_shares", "work_of"]

WORK = frozenset({"kernel", "comm", "copy"})
"""Kinds of events that are charged with time; others contain such events or take none."""
NOWHERE = Line("", 0)
"""The line of an event that has none."""


def work_of(profile: Profile) -> list[Event]:
    """The kernel, communication and copy events of a profile."""
    return [event for event in profile.events if event.kind in WORK]


def time_shares(events: Sequence[Event]) -> np.ndarray:
    """The nanoseconds of wall time that each event is charged with.

    Each moment is divided equally among the events that run in it on any thread. A kernel on all
    threads is charged once, a kernel for which the other threads wait is charged in full, and the
    sum is the time in which anything ran.
    """
    if not events:
        return np.zeros(0)
    starts = np.array([event.start for event in events], np.int64)
    ends = np.maximum(starts, np.array([event.end for event in events], np.int64))
    moments, places = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    first, last = np.split(places, 2)
    change = np.bincount(first, minlength=len(moments)) - np.bincount(last, minlength=len(moments))
    running = np.maximum(np.cumsum(change)[:-1], 1)
    until = np.concatenate([[0.0], np.cumsum(np.diff(moments) / running)])
    return until[last] - until[first]


def line_shares(record: Record) -> dict[Line, float]:
    """The fraction of a kernel that each line is charged with; the fractions add up to 1.

    Operations share by flops, or equally if none has any; an operation of several lines is divided
    equally among them. A kernel without known operations is divided equally among its lines, a
    batch first among its members.
    """
    if record.members:
        parts: defaultdict[Line, float] = defaultdict(float)
        for member, whole in zip(record.members, member_shares(record), strict=True):
            for line, part in line_shares(member).items():
                parts[line] += whole * part
        return dict(parts)
    if not record.ops:
        lines = record.lines or (NOWHERE,)
        return dict.fromkeys(lines, 1 / len(lines))
    total = sum(op.flops for op in record.ops)
    parts = defaultdict(float)
    for op in record.ops:
        lines = op.lines or record.lines[:1] or (NOWHERE,)
        part = op.flops / total if total else 1 / len(record.ops)
        for line in lines:
            parts[line] += part / len(lines)
    return {line: part for line, part in parts.items() if part}


def member_shares(record: Record) -> list[float]:
    """The fraction of a batch that each member is charged with, by its bytes.

    Threads divide a batch by bytes too; its members are not measured one by one.
    """
    sizes = [member.nbytes for member in record.members]
    total = sum(sizes)
    return [size / total if total else 1 / len(sizes) for size in sizes]


def calls_of(events: Sequence[Event]) -> Counter[int]:
    """The number of calls of each record; threads that share a call count once."""
    seen = Counter((e.record, e.args.get("run"), e.thread) for e in events if e.record is not None)
    most: dict[tuple[int, object], int] = {}
    for (record, run, _), count in seen.items():
        most[record, run] = max(most.get((record, run), 0), count)
    calls: Counter[int] = Counter()
    for (record, _), count in most.items():
        calls[record] += count
    return calls
