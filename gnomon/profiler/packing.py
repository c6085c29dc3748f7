"""Pack a profile for the page: columns, with numbers in place of repeated values.

The page's reader is assets/model.js, where columns have the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from gnomon.profiler.memory import memory_timeline
from gnomon.profiler.model import BufferRecord, Decision, Event, Line, OpRecord, Profile, Record
from gnomon.profiler.reports import Cost, by_kernel, by_module, by_source_line, totals
from gnomon.profiler.shares import NOWHERE, line_shares, member_shares

__all__ = ["packed"]

MOST_POINTS = 4000
"""The maximum number of points of a curve."""
MOST_BUFFERS = 400
"""The maximum number of buffers listed at the peak; all are counted by line."""


class ValueTable:
    """A table of distinct values and their numbers."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.numbers: dict[Hashable, int] = {}

    def __call__(self, value: Hashable) -> int:
        """The number of a value, which is added if it is new."""
        number = self.numbers.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


class PagePacking:
    """Writes a profile's columns, and fills the tables of repeated values."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.text, self.lines, self.ops, self.buffers = (
            ValueTable(),
            ValueTable(),
            ValueTable(),
            ValueTable(),
        )
        self.begin = min((event.start for event in profile.events), default=0)
        self.place = {number: place for place, number in enumerate(profile.records)}

    def line(self, line: Line) -> int:
        """The number of a line."""
        names = (self.text(x) for x in (line.file, line.function, line.module, line.phase))
        file, function, module, phase = names
        return self.lines((file, line.line, function, module, phase))

    def records(self) -> dict[str, list[Any]]:
        """The call sites as columns."""
        found = list(self.profile.records.values())
        costs = {row.record: row.cost for row in by_kernel(self.profile)}
        spent = [costs.get(record.id, Cost()) for record in found]
        return {
            "id": [x.id for x in found],
            "name": [self.text(x.name) for x in found],
            "symbol": [self.text(x.symbol) for x in found],
            "program": [self.text(x.program) for x in found],
            "backend": [self.text(x.backend) for x in found],
            "times": [x.times for x in found],
            "members": [self.members(x) for x in found],
            "flops": [x.flops for x in found],
            "nbytes": [x.nbytes for x in found],
            "lines": [self.parts(x) for x in found],
            "ops": [[self.op(op) for op in x.ops] for x in found],
            "buffers": [[self.buffer(b) for b in x.buffers] for x in found],
            "decisions": [[self.decision(d) for d in x.decisions] for x in found],
            "time": [round(cost.time) for cost in spent],
            "calls": [cost.calls for cost in spent],
            "least": [round(cost.least) for cost in spent],
        }

    def parts(self, record: Record) -> list[list[float]]:
        """The lines of a call site, each with its share of the time."""
        shares = line_shares(record)
        lines = dict.fromkeys((*shares, *record.lines))
        return [[self.line(x), round(shares.get(x, 0.0), 4)] for x in lines if x.file]

    def members(self, record: Record) -> list[list[float]]:
        """The kernels of a batch: symbol, first line, share of the time."""
        rows = zip(record.members, member_shares(record), strict=True)
        return [
            [self.text(x.symbol), self.line((*x.lines, NOWHERE)[0]), round(part, 6)]
            for x, part in rows
        ]

    def op(self, op: OpRecord) -> int:
        """The number of an operation."""
        lines = tuple(self.line(x) for x in op.lines if x.file)
        return self.ops((self.text(op.name), lines, int(op.recomputed)))

    def decision(self, weighed: Decision) -> list[int]:
        """A fusion decision as a list of numbers."""
        of = weighed
        words = (self.text(x) for x in (of.kind, of.side, of.what, of.of, of.refused))
        lines = (-1 if x is None else self.line(x) for x in (of.line, of.of_line))
        spent = (round(1e9 * x) for x in of.seconds or ())
        return [*words, *lines, of.apart, of.together, of.times, *spent]

    def buffer(self, buffer: BufferRecord) -> int:
        """The number of a buffer."""
        shape = ", ".join(map(str, buffer.shape))
        words = (buffer.name, buffer.role, f"{buffer.dtype}[{shape}]")
        return self.buffers((*(self.text(x) for x in words), buffer.nbytes))

    def events(self) -> dict[str, Any]:
        """The events as columns in order of time, without allocations and frees."""
        found = [e for e in self.profile.events if e.kind not in ("alloc", "free")]
        starts = [event.start - self.begin for event in found]
        return {
            "kind": [self.text(e.kind) for e in found],
            "name": [self.text(e.name) for e in found],
            "since": [b - a for a, b in zip([0, *starts], starts, strict=False)],
            "took": [max(0, e.end - e.start) for e in found],
            "thread": [e.thread for e in found],
            "record": [-1 if e.record is None else self.place.get(e.record, -1) for e in found],
            "lines": {n: self.first_lines(e) for n, e in enumerate(found) if e.lines},
            "args": {n: details(e) for n, e in enumerate(found) if e.args},
        }

    def first_lines(self, event: Event) -> list[int]:
        """The numbers of an event's own lines."""
        return [self.line(x) for x in event.lines if x.file]

    def rows(self) -> list[list[Any]]:
        """The report by line."""
        return [
            [
                self.text(row.file),
                row.line,
                self.text(row.function),
                *cost(row.cost),
                row.allocations,
                row.allocated,
                [[self.text(name), round(time)] for name, time in row.phases.items()],
                [self.text(name) for name in row.modules],
            ]
            for row in by_source_line(self.profile)
        ]

    def modules(self) -> list[list[Any]]:
        """The report by module."""
        rows = by_module(self.profile)
        return [[self.text(x.module), round(x.own.time), *cost(x.whole)] for x in rows]

    def memory(self) -> dict[str, Any]:
        """Memory over time and at its peak."""
        memory = memory_timeline(self.profile)
        times, live = thin_curve(np.array(memory.times, np.int64), np.array(memory.live, np.int64))
        buffers = memory.buffers[:MOST_BUFFERS]
        many = Counter((x.line.file, x.line.line) for x in memory.buffers)
        return {
            "times": [int(x) - self.begin for x in times],
            "live": [int(x) for x in live],
            "peak": memory.peak,
            "at": memory.at - self.begin,
            "lines": [[self.text(x[0]), x[1], n, many[x]] for x, n in memory.lines.items()],
            "buffers": [[self.text(x.name), x.nbytes, self.line(x.line)] for x in buffers],
        }


def cost(of: Cost) -> list[float]:
    """A cost as rounded numbers."""
    whole = (of.time, of.calls, of.kernels, of.nbytes, of.flops, of.least)
    return [round(x) for x in whole]


def thin_curve(times: np.ndarray, live: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce a curve to at most MOST_POINTS points that keep its peaks and valleys."""
    if len(times) <= MOST_POINTS:
        return times, live
    cuts = np.linspace(0, len(times), MOST_POINTS // 2 + 1).astype(int)
    kept: set[int] = {0, len(times) - 1}
    for first, last in pairwise(cuts):
        kept |= {first + int(live[first:last].argmax()), first + int(live[first:last].argmin())}
    places = sorted(kept)
    return times[places], live[places]


def details(event: Event) -> dict[str, str | int | float]:
    """The arguments of an event as valid UTF-8."""
    return {as_utf8(k): as_utf8(v) if isinstance(v, str) else v for k, v in event.args.items()}


def as_utf8(text: str) -> str:
    r"""A text with unencodable characters replaced, since file names may have any bytes.

    >>> as_utf8("a\udc80")
    'a?'
    """
    return text.encode("utf-8", "replace").decode()


def packed(profile: Profile) -> dict[str, Any]:
    """A profile as the page's script reads it."""
    packing, machine, all_ = PagePacking(profile), profile.machine, totals(profile)
    columns = {name: getattr(packing, name)() for name in PARTS}
    return {
        "machine": list(msgspec.structs.astuple(machine)),
        "ranks": [profile.rank, profile.world],
        "totals": [all_.stepping, all_.busy, all_.steps, all_.kernels, all_.events, all_.coverage],
        "lost": profile.lost,
        "threads": profile.threads,
        **columns,
        "sources": {as_utf8(file): as_utf8(text) for file, text in profile.sources.items()},
        "graphs": {as_utf8(name): as_utf8(text) for name, text in profile.graphs.items()},
        "code": {as_utf8(name): as_utf8(text) for name, text in profile.code.items()},
        "lines": packing.lines.values,
        "ops": packing.ops.values,
        "buffers": packing.buffers.values,
        "text": list(map(as_utf8, packing.text.values)),
    }


PARTS: Sequence[str] = ("records", "events", "rows", "modules", "memory")
"""The methods of PagePacking whose results the page gets."""
