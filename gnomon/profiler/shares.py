"""Shares of time: among kernels that run at once, then among the lines of a kernel.

Both rules divide without rest: what reports add up is the time that somebody waited.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from gnomon.profiler.model import Event, Line, Profile, Record

__all__ = ["NOWHERE", "WORK", "calls_of", "line_shares", "member_shares", "time_shares", "work_of"]

WORK = frozenset({"kernel", "comm", "copy"})
"""Kinds of events that are somebody's work; the others hold such events or only happen."""
NOWHERE = Line("", 0)
"""Stands for the line of what names none."""


def work_of(profile: Profile) -> list[Event]:
    """The events of a profile that are work."""
    return [event for event in profile.events if event.kind in WORK]


def time_shares(events: Sequence[Event]) -> np.ndarray:
    """The nanoseconds of wall time that each event answers for.

    Every moment is divided equally between the events that run in it, on whatever thread. A kernel
    on all threads has its time once, a kernel for which the other threads wait has all of it, and
    the sum is the time in which anything ran.
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
    """The part of a kernel that each line answers for; the parts add up to 1.

    Operations share by their flops, or equally where none has any; an operation that several lines
    asked for is theirs in equal parts. A kernel of unknown operations is its lines' in equal parts.
    A batch is first divided between its members.
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
    """The part of a batch that each member answers for: that of its bytes.

    Threads share a batch out by bytes too; nobody measures its members one by one.
    """
    sizes = [member.nbytes for member in record.members]
    total = sum(sizes)
    return [size / total if total else 1 / len(sizes) for size in sizes]


def calls_of(events: Sequence[Event]) -> Counter[int]:
    """The number of calls of each record: threads that share a call count once in each run."""
    seen = Counter((e.record, e.args.get("run"), e.thread) for e in events if e.record is not None)
    most: dict[tuple[int, object], int] = {}
    for (record, run, _), count in seen.items():
        most[record, run] = max(most.get((record, run), 0), count)
    calls: Counter[int] = Counter()
    for (record, _), count in most.items():
        calls[record] += count
    return calls
