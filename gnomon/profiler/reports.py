"""Reports of a profile as plain data: by line, by module, by kernel, and totals.

tables.py and page.py display them; shares.py divides time among kernels and lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct, field

from gnomon.profiler.model import Event, Line, MachineLimits, Profile, Record
from gnomon.profiler.shares import (
    NOWHERE,
    calls_of,
    line_shares,
    member_shares,
    time_shares,
    work_of,
)

__all__ = [
    "Cost",
    "KernelRow",
    "LineRow",
    "ModuleRow",
    "Totals",
    "by_kernel",
    "by_module",
    "by_source_line",
    "totals",
    "why_recompiled",
]

RECOMPILED = "recompile: "
"""The prefix in the name of a capture that was not the function's first."""


class Cost(Struct):
    """The cost of a kernel, line or module; time is wall time in nanoseconds.

    least: the roofline time, in which the machine at its peak would do the flops or move the bytes,
    whichever takes longer. kernels: the number of call sites.
    """

    time: float = 0.0
    calls: int = 0
    kernels: int = 0
    nbytes: float = 0.0
    flops: float = 0.0
    least: float = 0.0

    @property
    def bytes_per_second(self) -> float:
        """The bytes read and written per second."""
        return 1e9 * self.nbytes / self.time if self.time else 0.0

    @property
    def flops_per_second(self) -> float:
        """The floating-point operations per second."""
        return 1e9 * self.flops / self.time if self.time else 0.0

    @property
    def roofline(self) -> float:
        """The fraction of the machine's limit that was reached.

        Data that fits a cache counts against that cache. It is above 1 if a cache serves a part of
        data that does not fit it.
        """
        return self.least / self.time if self.time else 0.0

    def add(self, other: Cost, part: float) -> None:
        """Add a fraction of another cost; its calls and kernels count in full."""
        self.time += part * other.time
        self.calls += other.calls
        self.kernels += other.kernels
        self.nbytes += part * other.nbytes
        self.flops += part * other.flops
        self.least += part * other.least


class LineRow(Struct):
    """A line of user code and its cost.

    phases: time by phase of the step. allocations, allocated: the number and bytes of allocations.
    """

    file: str
    line: int
    function: str
    cost: Cost = field(default_factory=Cost)
    phases: dict[str, float] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    allocations: int = 0
    allocated: int = 0


class ModuleRow(Struct):
    """A module's cost, by itself and with its submodules."""

    module: str
    own: Cost = field(default_factory=Cost)
    whole: Cost = field(default_factory=Cost)


class KernelRow(Struct):
    """A call site and its cost, or a copy or collective without a record.

    members: the kernels of a batch. Only the batch is measured: its time is divided by bytes.
    """

    name: str
    record: int | None
    lines: tuple[Line, ...] = ()
    cost: Cost = field(default_factory=Cost)
    members: list[KernelRow] = []


class Totals(Struct):
    """Totals of a profile; times in nanoseconds.

    wall: from the first event's start to the last one's end. busy: the time in which anything was
    computed, moved or sent. stepping: the sum of all steps. named: the number of kernel events with
    a user's line.
    """

    wall: int = 0
    busy: float = 0.0
    steps: int = 0
    stepping: int = 0
    kernels: int = 0
    events: int = 0
    named: int = 0
    lost: int = 0

    @property
    def coverage(self) -> float:
        """The fraction of kernel events that have a user's line."""
        return self.named / self.events if self.events else 1.0


def by_kernel(profile: Profile) -> list[KernelRow]:
    """The cost of each call site, the costliest first.

    Time is wall time: a moment in which several events run is divided equally among them.
    """
    events = work_of(profile)
    calls = calls_of(events)
    rows: dict[int | str, KernelRow] = {}
    for event, share in zip(events, time_shares(events).tolist(), strict=True):
        key = event.name if event.record is None else event.record
        row = rows.get(key) or rows.setdefault(key, new_kernel_row(profile, event, calls))
        row.cost.time += share
        if event.record is None:
            row.cost.calls += 1
            row.cost.nbytes += event.nbytes
    for row in rows.values():
        row.members = list(members_of(profile, row))
    return sorted(rows.values(), key=lambda row: -row.cost.time)


def members_of(profile: Profile, row: KernelRow) -> Iterator[KernelRow]:
    """Yield the kernels of a batch with their shares of its time."""
    record = profile.records.get(row.record) if row.record is not None else None
    if record is not None and record.members:
        for member, part in zip(record.members, member_shares(record), strict=True):
            cost = cost_of(member, row.cost.calls, profile.machine)
            cost.time = part * row.cost.time
            yield KernelRow(member.name, member.id, member.lines, cost)


def new_kernel_row(profile: Profile, event: Event, calls: dict[int, int]) -> KernelRow:
    """A row for an event's call site, with everything but its time."""
    record = profile.record_of(event)
    if record is None:
        cost = Cost(calls=calls[event.record] if event.record is not None else 0)
        return KernelRow(event.name, event.record, event.lines, cost)
    cost = cost_of(record, calls[record.id], profile.machine)
    return KernelRow(record.name, record.id, record.lines, cost)


def cost_of(record: Record, calls: int, machine: MachineLimits) -> Cost:
    """The bytes, flops and roofline time of `calls` calls; their measured time is 0."""
    moved, counted = calls * record.nbytes, calls * record.flops
    return Cost(0.0, calls, 1, moved, counted, calls * least_time(record, machine))


def least_time(record: Record, machine: MachineLimits) -> float:
    """The nanoseconds that a call takes on a machine at its peak."""
    computing = record.flops / machine.flops if machine.flops else 0.0
    bandwidth = machine.bandwidth_of(record.nbytes)
    moving = record.nbytes / bandwidth if bandwidth else 0.0
    return 1e9 * max(computing, moving)


def line_parts(profile: Profile) -> Iterator[tuple[KernelRow, Line, float]]:
    """Yield each kernel, each of its lines, and the line's fraction of the kernel."""
    for row in by_kernel(profile):
        record = profile.records.get(row.record) if row.record is not None else None
        if record is not None:
            parts = line_shares(record)
        else:
            parts = dict.fromkeys(row.lines or (NOWHERE,), 1 / max(1, len(row.lines)))
        for line, part in parts.items():
            yield row, line, part


def by_source_line(profile: Profile) -> list[LineRow]:
    """The cost of each line of user code, the costliest first.

    A kernel of several lines is divided among them by the flops of their operations
    (shares.line_shares), and so are its bytes and flops; each line counts all its calls. The times
    of all lines add up to the time in which anything ran.
    """
    rows: dict[tuple[str, int], LineRow] = {}
    counted: set[tuple[int, str, int]] = set()
    for kernel, line, part in line_parts(profile):
        row = row_of(rows, line)
        seen = (id(kernel), line.file, line.line) in counted
        counted.add((id(kernel), line.file, line.line))
        row.cost.add(without_counts(kernel.cost, seen), part)
        row.phases[line.phase] = row.phases.get(line.phase, 0.0) + part * kernel.cost.time
        if line.module and line.module not in row.modules:
            row.modules.append(line.module)
    count_allocations(profile, rows)
    return sorted(rows.values(), key=lambda row: -row.cost.time)


def row_of(rows: dict[tuple[str, int], LineRow], line: Line) -> LineRow:
    """A line's row, which is added if it is new."""
    key = (line.file, line.line)
    return rows.get(key) or rows.setdefault(key, LineRow(*key, line.function))


def without_counts(cost: Cost, counted: bool) -> Cost:
    """A cost, without calls and kernels if they are counted already."""
    return Cost(cost.time, 0, 0, cost.nbytes, cost.flops, cost.least) if counted else cost


def count_allocations(profile: Profile, rows: dict[tuple[str, int], LineRow]) -> None:
    """Count each allocation in the row of its first source line."""
    for event in profile.events:
        if event.kind == "alloc":
            row = row_of(rows, (profile.lines_of(event) or (NOWHERE,))[0])
            row.allocations += 1
            row.allocated += event.nbytes


def by_module(profile: Profile) -> list[ModuleRow]:
    """The cost of each module, by itself and with its submodules, in order of their names.

    The row without a name is the whole; its own cost is that of code outside all modules, such as
    the optimizer.
    """
    rows: dict[str, ModuleRow] = {"": ModuleRow("")}
    counted: defaultdict[str, set[int]] = defaultdict(set)
    for kernel, line, part in line_parts(profile):
        for path in paths_to(line.module):
            row = rows.setdefault(path, ModuleRow(path))
            cost = without_counts(kernel.cost, id(kernel) in counted[path])
            counted[path].add(id(kernel))
            row.whole.add(cost, part)
            if path == line.module:
                row.own.add(cost, part)
    return sorted(rows.values(), key=lambda row: module_sort_key(row.module))


def paths_to(module: str) -> list[str]:
    """The path of a module and of all its parents, beginning with "".

    >>> paths_to("layers.0.mlp")
    ['', 'layers', 'layers.0', 'layers.0.mlp']
    """
    names = module.split(".") if module else []
    return ["", *(".".join(names[: n + 1]) for n in range(len(names)))]


def module_sort_key(module: str) -> list[tuple[int, str]]:
    """A sort key of module paths that puts layer 2 before layer 10."""
    return [(int(x), "") if x.isdecimal() else (-1, x) for x in module.split(".")]


def totals(profile: Profile) -> Totals:
    """The totals of a profile."""
    events = work_of(profile)
    kernels = [event for event in events if event.kind == "kernel"]
    steps = [event for event in profile.events if event.kind == "step"]
    return Totals(
        wall=max((e.end for e in profile.events), default=0)
        - min((e.start for e in profile.events), default=0),
        busy=float(time_shares(events).sum()),
        steps=len(steps),
        stepping=sum(event.end - event.start for event in steps),
        kernels=len({event.record for event in kernels}),
        events=len(kernels),
        named=sum(any(x.file for x in profile.lines_of(event)) for event in kernels),
        lost=profile.lost,
    )


def why_recompiled(profile: Profile) -> list[str]:
    """The reason of each recompilation, one text per further capture of a function."""
    names = (event.name for event in profile.events if event.kind == "compile")
    return [name.removeprefix(RECOMPILED) for name in names if name.startswith(RECOMPILED)]
