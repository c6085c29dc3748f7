"""Collect the runtime's events, and make a profile of them afterwards.

While subscribed, it only stores events: kind, time, place. Records, lines and texts are looked up
when the profile is requested, outside of the measured time.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Mapping
from threading import get_ident
from time import monotonic_ns
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from gnomon.forking import cached_property
from gnomon.ir.provenance import Site, asked_from, sites_here
from gnomon.profiler.limits import machine_now
from gnomon.profiler.model import Event, Line, Profile
from gnomon.program.collectives import FIRST, WAIT
from gnomon.program.executable import Executable
from gnomon.program.liveness import values_of
from gnomon.program.records import text_of
from gnomon.runtime import events
from gnomon.runtime.program import Call

__all__ = ["Collector"]

MOST_CALLS = 1 << 22
"""The maximum number of stored kernel calls; further ones are counted as lost."""
OTHERS = 1000
"""The number of the second Python thread; the pool's workers are 1, 2, ..."""
PLACED = frozenset({"alloc", "copy", "made"})
"""Kinds of events whose source line is looked up at once."""


class Heard(NamedTuple):
    """A raw runtime event: kind, thread, its source lines if looked up, fields."""

    kind: str
    thread: int
    sites: tuple[Site, ...]
    fields: Mapping[str, Any]


class Collector:
    """Stores runtime events between start() and stop(), and makes a profile of them."""

    def __init__(self) -> None:
        self.heard: list[Heard | tuple[int, int, int]] = []
        self.main, self.calls, self.lost = get_ident(), 0, 0
        self.began = monotonic_ns()
        self._stop = lambda: None

    def start(self) -> None:
        """Subscribe to the runtime's events."""
        self.began = monotonic_ns()
        self._stop = events.subscribe(self.hear)

    def stop(self) -> None:
        """Unsubscribe."""
        self._stop()

    def hear(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Store an event; beyond MOST_CALLS, kernel calls are only counted."""
        sites: tuple[Site, ...] = ()
        if kind == "free":  # the commonest: plain numbers, which the garbage collector leaves alone
            self.heard.append((fields["address"], fields["at"], get_ident()))
            return
        if kind == "run":
            self.calls += sum(map(len, fields["records"]))
            if self.calls > MOST_CALLS:
                self.lost += sum(map(len, fields["records"]))
                return
        elif kind in PLACED:
            sites = sites_here()
        elif kind == "forced":
            name, site = asked_from()
            fields, sites = {**fields, "name": name}, (site,)
        self.heard.append(Heard(kind, get_ident(), sites, fields))

    def profile(self, rank: int = 0, world: int = 1) -> Profile:
        """Make a profile of the stored events."""
        made = Profile(machine_now(), rank=rank, world=world, lost=self.lost)
        EventConverter(self, made).convert()
        return made


class Known:
    """A program that ran, with its records by row and the values in its memory."""

    def __init__(self, caller: Executable) -> None:
        self.caller = caller
        self.records = caller.records
        steps = enumerate(caller.program.steps)
        rows = [k for k, step in steps if isinstance(step, Call)]
        self.by_row = dict(zip(rows, self.records, strict=True))
        moved = {k: x for k, x in zip(rows, caller.kernels, strict=True) if x.mesh}
        self.starts = {k: x.numbers[FIRST] for k, x in moved.items() if not x.name.endswith(WAIT)}
        self.waits = {k: x for k, x in moved.items() if x.name.endswith(WAIT)}
        """The rows that wait for transfers."""
        self.ordinal = {row: k for k, row in enumerate(rows)}

    @cached_property
    def values(self) -> list[tuple[str, int, tuple[Line, ...], int, int]]:
        """The name, bytes, lines, first and last call of each value in the program's memory."""
        return [
            (repr(x.node), x.nbytes, lines_of(x.sites), x.first, x.last)
            for x in values_of(self.caller.block)
        ]


class EventConverter:
    """Converts stored runtime events to the events, records and texts of a profile."""

    def __init__(self, collector: Collector, profile: Profile) -> None:
        self.heard, self.profile, self.origin = collector.heard, profile, collector.began
        self.lanes = {collector.main: 0}
        self.known: dict[int, Known] = {}
        self.live: dict[int, Event] = {}
        self.groups: dict[tuple[int, str], str] = {}
        """The ranks of each thread's group along a mesh axis, as last used."""
        self.buffers = self.runs = 0
        profile.threads[0] = "main"

    def convert(self) -> None:
        """Convert all stored events and fill the profile."""
        made: list[Event] = []
        for each in self.heard:
            if isinstance(each, Heard):
                made.extend(getattr(self, f"convert_{each.kind}", self.convert_span)(each))
            else:
                made.extend(self.convert_free(*each))
        made.sort(key=lambda event: event.start)
        self.profile.events = made
        for known in self.known.values():
            self.convert_program(known)
        self.convert_sources()

    def lane(self, thread: int) -> int:
        """The profile's number for a Python thread, assigned on first use."""
        if thread not in self.lanes:
            number = self.lanes[thread] = OTHERS + len(self.lanes) - 1
            self.profile.threads[number] = f"Python thread {len(self.lanes)}"
        return self.lanes[thread]

    # events

    def convert_run(self, each: Heard) -> Iterator[Event]:
        """Yield a program run's span on its caller's thread, its kernels, transfers and memory."""
        fields, lane = each.fields, self.lane(each.thread)
        caller, self.profile.lost = fields["caller"], self.profile.lost + fields["lost"]
        if caller is None:
            return
        known = self.known.get(id(caller))
        if known is None:
            known = self.known[id(caller)] = Known(caller)
        args: dict[str, str | int | float] = {"run": self.runs}
        self.runs += 1
        start, end = fields["start"] - self.origin, fields["end"] - self.origin
        yield Event("span", f"run {caller.title}", start, end, lane, args=args)
        for worker, rows in enumerate(fields["records"]):
            where = worker or lane
            if worker:
                self.profile.threads.setdefault(worker, f"worker {worker}")
            for row, began, ended in (rows - [0, self.origin, self.origin]).tolist():
                record = known.by_row[row]
                yield Event("kernel", record.name, began, ended, where, record.id, args=args)
        yield from self.transfers(known, each, lane)
        yield from self.values(known, fields["records"], (start, end, lane))

    def convert_groups(self, each: Heard) -> Iterator[Event]:
        """Note the groups of ranks that a thread's next program uses; yields no events."""
        for mesh, ranks in each.fields["groups"].items():
            self.groups[each.thread, mesh] = ", ".join(map(str, ranks))
        return iter(())

    def transfers(self, known: Known, each: Heard, lane: int) -> Iterator[Event]:
        """Yield an event per transfer, from its start to the end of its wait; on thread 0 only."""
        began: dict[int, int] = {}
        for row, start, end in each.fields["records"][0].tolist():
            if row in known.starts:
                began[known.starts[row]] = start
            elif row in known.waits:
                moved, record = known.waits[row], known.by_row[row]
                lines = tuple(replace(line, phase="comm") for line in record.lines)
                group = self.groups.get((each.thread, moved.mesh), "")
                yield Event(
                    "comm",
                    f"{moved.name.removesuffix(WAIT)} along {moved.mesh}",
                    *(began[moved.numbers[FIRST]] - self.origin, end - self.origin, lane),
                    nbytes=record.nbytes,
                    lines=lines,
                    args={"group": group, "waited": end - start},
                )

    def values(
        self, known: Known, records: list[np.ndarray], span: tuple[int, int, int]
    ) -> Iterator[Event]:
        """Yield allocation and free events of the values in a program's memory."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for rows in records:
            for row, began, ended in rows.tolist():
                call = known.ordinal[row]
                first[call] = min(first.get(call, began), began)
                last[call] = max(last.get(call, ended), ended)
        start, end, lane = span
        for name, nbytes, lines, begin, finish in known.values:
            if nbytes == 0 or (begin not in first and finish not in last):
                continue
            came = first[begin] - self.origin if begin in first else start
            went = last[finish] - self.origin if finish in last else end
            args: dict[str, str | int | float] = {"buffer": self.buffers}
            self.buffers += 1
            yield Event("alloc", name, came, came, lane, None, nbytes, lines, args)
            yield Event("free", name, went, went, lane, None, nbytes, lines, args)

    def convert_alloc(self, each: Heard) -> Iterator[Event]:
        """Yield the allocation event of a block."""
        yield self.taken(each, each.fields["address"], each.fields["nbytes"], each.sites)

    def convert_made(self, each: Heard) -> Iterator[Event]:
        """Yield the allocation events of a program's results."""
        results = each.fields["caller"].results()
        for address, (nbytes, sites) in zip(each.fields["addresses"], results, strict=True):
            if address is not None:
                yield self.taken(each, address, nbytes, sites or each.sites)

    def taken(self, each: Heard, address: int, nbytes: int, sites: tuple[Site, ...]) -> Event:
        """Create and register the allocation event of a block."""
        at, lane = each.fields["at"] - self.origin, self.lane(each.thread)
        args: dict[str, str | int | float] = {"buffer": self.buffers}
        self.buffers += 1
        made = Event("alloc", "buffer", at, at, lane, None, nbytes, lines_of(sites), args)
        self.live[address] = made
        return made

    def convert_free(self, address: int, at: int, thread: int) -> Iterator[Event]:
        """Yield the event of a freed block, unless it was allocated before the profile."""
        made = self.live.pop(address, None)
        if made is not None:
            at, lane = at - self.origin, self.lane(thread)
            yield Event("free", made.name, at, at, lane, None, made.nbytes, made.lines, made.args)

    def convert_span(self, each: Heard) -> Iterator[Event]:
        """Yield any other event, which has a name, a start and an end."""
        fields = each.fields
        times = (fields["start"] - self.origin, fields["end"] - self.origin)
        lines = lines_of(fields.get("sites") or each.sites)
        lane, size = self.lane(each.thread), fields.get("nbytes", 0)
        args = fields.get("args", {})
        yield Event(each.kind, fields["name"], *times, lane, None, size, lines, args)

    # texts

    def convert_program(self, known: Known) -> None:
        """Add a program's records, graph and code to the profile."""
        caller, profile = known.caller, self.profile
        profile.records.update((record.id, record) for record in known.records)
        profile.graphs.setdefault(caller.title, text_of(caller.block))
        for kernel, record in zip(caller.kernels, known.records, strict=True):
            for one, found in ((kernel, record), *zip(kernel.members, record.members, strict=True)):
                profile.code.setdefault(found.symbol, one.code.text)
                for part in one.code.parts:
                    profile.code.setdefault(part.symbol, part.text)

    def convert_sources(self) -> None:
        """Add the text of every source file that a line names."""
        for file in sorted({line.file for line in self.lines()}):
            text = "".join(linecache.getlines(file))
            if text:
                self.profile.sources[file] = text

    def lines(self) -> Iterable[Line]:
        """Yield every line that a record, an operation or an event names."""
        for record in self.profile.records.values():
            yield from record.lines
            for op in record.ops:
                yield from op.lines
        for event in self.profile.events:
            yield from event.lines


def lines_of(sites: Iterable[Site]) -> tuple[Line, ...]:
    """Convert sites to lines, without duplicates."""
    made = (Line(s.file, s.line, s.function, s.module, s.phase) for s in sites)
    return tuple(dict.fromkeys(made))
