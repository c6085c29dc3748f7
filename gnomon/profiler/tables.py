"""Reports as tables for a terminal, from reports.py, memory.py and compare.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gnomon.profiler.memory import Memory
from gnomon.profiler.model import Line, Profile
from gnomon.profiler.reports import (
    Cost,
    KernelRow,
    LineRow,
    ModuleRow,
    by_kernel,
    by_module,
    by_source_line,
    totals,
)
from gnomon.program.units import digits, metric

__all__ = [
    "kernel_table",
    "line_table",
    "memory_table",
    "module_table",
    "summary",
    "time_text",
]

MOST_MEMBERS = 3
"""The number of listed kernels of a batch."""
COSTS = ("time", "of all", "calls", "GB/s", "GFLOP/s", "roofline")


def line_table(profile: Profile, most: int = 10) -> Table:
    """A table of the costliest lines: time per step, work, and the line."""
    rows, all_ = by_source_line(profile), totals(profile)
    made = table("kernels", *COSTS, "new memory", "line of yours")
    for row in rows[:most]:
        made.add_row(
            str(row.cost.kernels),
            *costs(row.cost, all_.busy, all_.steps),
            metric(row.allocated / max(1, all_.steps), "B") if row.allocated else "",
            line_text(profile, row),
        )
    return made


def line_text(profile: Profile, row: LineRow) -> Text:
    """The table cell of a line: its place and its text."""
    if not row.file:
        return Text("(no line)", style="dim")
    text = source_line(profile, row.file, row.line)
    place = Text(f"{short_path(row.file)}:{row.line}", style="bold")
    return place.append(f"  {text}", style="not bold dim") if text else place


def module_table(profile: Profile, most: int = 40) -> Table:
    """A table of the costliest modules, indented, in the model's order."""
    rows, all_ = by_module(profile), totals(profile)
    kept = {row.module for row in sorted(rows, key=lambda row: -row.whole.time)[:most]}
    made = table("own time", *COSTS, "part of the model")
    for row in rows:
        if row.module in kept:
            own = time_text(row.own.time / max(1, all_.steps)) if row.own.time else ""
            made.add_row(own, *costs(row.whole, all_.busy, all_.steps), module_text(row))
    return made


def module_text(row: ModuleRow) -> Text:
    """A module's name, indented by its depth."""
    if not row.module:
        return Text("all", style="bold")
    return Text("  " * (row.module.count(".") + 1) + row.module.rpartition(".")[2])


def kernel_table(profile: Profile, most: int = 10) -> Table:
    """A table of the costliest call sites, with the largest members of each batch."""
    all_ = totals(profile)
    made = table("kernel", *COSTS, "line of yours")
    made.columns[0].justify = "left"
    for row in by_kernel(profile)[:most]:
        members = sorted(row.members, key=lambda member: -member.cost.time)[:MOST_MEMBERS]
        more = f" ({len(row.members)})" if members else ""
        for name, each in ((row.name + more, row), *((f"  {x.name}", x) for x in members)):
            made.add_row(Text(name), *costs(each.cost, all_.busy, all_.steps), first_line(each))
        if members:
            made.caption = "Kernels of a batch, indented, have their parts of its time by bytes."
    return made


def first_line(row: KernelRow) -> Text:
    """The table cell of a call site: its first line, and how many more there are."""
    lines = [line for line in row.lines if line.file]
    return place_text(lines[0], len(lines) - 1) if lines else Text("(no line)", style="dim")


def place_text(line: Line, more: int = 0) -> Text:
    """The table cell of a line: its place and its module."""
    text = Text(f"{short_path(line.file)}:{line.line}", style="bold")
    text.append(f" in {line.module}" if line.module else "", style="not bold")
    return text.append(f" and {more} more" if more else "", style="not bold dim")


def memory_table(memory: Memory, most: int = 10) -> Table:
    """A table of the largest buffers that were alive at the peak."""
    made = table("bytes", "of peak", "buffer", "line of yours")
    made.columns[2].justify = "left"
    for each in memory.buffers[:most]:
        part = f"{each.nbytes / memory.peak:.0%}"
        made.add_row(metric(each.nbytes, "B"), part, Text(each.name), place_text(each.line))
    return made


def summary(profile: Profile) -> str:
    """A profile's totals in one line of text."""
    all_ = totals(profile)
    lost = f"; {all_.lost} events lost" if all_.lost else ""
    steps = f"{all_.steps} step{'s' if all_.steps != 1 else ''}"
    each = f"{time_text(all_.stepping / all_.steps)}, of which " if all_.steps else ""
    return (
        f"{steps + ' of ' + each if all_.steps else ''}"
        f"{time_text(all_.busy / max(1, all_.steps))} in kernels; {all_.kernels} kernels, "
        f"{all_.coverage:.1%} of {all_.events:,} events name a line{lost}"
    )


def table(*columns: str) -> Table:
    """Make a table of right-aligned columns, the last one left-aligned."""
    made = Table(box=None, pad_edge=False)
    for column in columns[:-1]:
        made.add_column(column, justify="right", no_wrap=True, min_width=max(8, len(column)))
    made.add_column(columns[-1], overflow="ellipsis", no_wrap=True)
    return made


def costs(cost: Cost, busy: float, steps: int) -> Iterable[str]:
    """A cost per step as the cells of the columns COSTS."""
    steps = max(1, steps)
    calls = cost.calls / steps
    return (
        time_text(cost.time / steps),
        f"{cost.time / busy:.1%}" if busy else "",
        f"{calls:.0f}" if calls == round(calls) else f"{calls:.1f}",
        f"{cost.bytes_per_second / 1e9:.1f}",
        f"{cost.flops_per_second / 1e9:.1f}",
        f"{cost.roofline:.0%}",
    )


def source_line(profile: Profile, file: str, line: int) -> str:
    """The text of a line if the profile has its file, else ""."""
    lines: Sequence[str] = profile.sources.get(file, "").splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def short_path(file: str) -> str:
    """A file's path from the current folder, or its last folder and name if it is outside.

    >>> short_path("/home/somebody/project/models/llama.py")
    'models/llama.py'
    """
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()
    return "/".join(path.parts[-2:])


def time_text(nanoseconds: float) -> str:
    """A duration in a suitable unit.

    >>> time_text(950), time_text(4_200_000), time_text(2.5e9)
    ('0.95 µs', '4.20 ms', '2.50 s')
    """
    for size, unit in ((1e9, "s"), (1e6, "ms")):
        if nanoseconds >= 0.9995 * size:
            return f"{digits(nanoseconds / size)} {unit}"
    return f"{digits(nanoseconds / 1e3)} µs"


def wide_console(width: int) -> Console:
    """A console for the terminal, or one of fixed width if the output is a file."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=width)
