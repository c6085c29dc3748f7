"""Reports of benchmarks: a table for a terminal, plain values for a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from rich.table import Table
from rich.text import Text

from gnomon.bench.cases import SpeedTarget
from gnomon.bench.harness import Figures, Result
from gnomon.profiler.limits import Limits
from gnomon.profiler.tables import time_text

__all__ = [
    "TargetVerdict",
    "as_values",
    "kernel_table",
    "summary",
    "table",
    "unequal",
    "verdicts",
]

MOST_ROWS = 8
"""Kernels of a case that are shown."""


class TargetVerdict:
    """A figure compared with its target."""

    def __init__(self, text: str, value: float, least: float, aim: float, most: bool = False):
        self.text, self.value, self.least, self.aim = text, value, least, aim
        self.sign = "≤" if most else "≥"
        self.holds = value <= least if most else value >= least
        self.reached = value <= aim if most else value >= aim

    @property
    def style(self) -> str:
        """Green where the aim is reached, yellow where the least is."""
        return "green" if self.reached else "yellow" if self.holds else "red"


def verdicts(result: Result, limits: Limits) -> Iterator[TargetVerdict]:
    """Every figure of a case that something was aimed at."""
    case, ours = result.case, result.time_of("gnomon")
    if ours is None:
        return
    for target in case.targets:
        found = fastest(result, target)
        if found:
            name, seconds = found
            ratio = seconds / ours
            yield TargetVerdict(f"{ratio:.2f} × {name}", ratio, target.least, target.aim)
    if case.share:
        reached = case.share.work / ours / limits.of(case.share.limit)
        text = f"{reached:.0%} of {case.share.limit}"
        yield TargetVerdict(text, reached, case.share.least, case.share.aim)
    yield from memory_verdict(result)
    for name, most in case.aims.items():
        if name in result.ours.about:
            value = float(result.ours.about[name])
            text = f"{name} {time_text(1e9 * value) if value < 1 else f'{value:g}'}"
            yield TargetVerdict(text, value, most, most, most=True)


def memory_verdict(result: Result) -> Iterator[TargetVerdict]:
    """The memory that Gnomon adds besides results, relative to other frameworks."""
    target = result.case.memory
    figures = {f.name: f for f in result.figures if f.peak_first}
    added = {n: f.peak_first - f.before - result.case.results for n, f in figures.items()}
    theirs = [added[name] for name in target.against if name in added] if target else []
    if target and theirs and "gnomon" in added:
        ratio = added["gnomon"] / max(min(theirs), 1)
        text = f"{ratio:.2f} × the memory"
        yield TargetVerdict(text, ratio, target.least, target.aim, most=True)


def fastest(result: Result, target: SpeedTarget) -> tuple[str, float] | None:
    """The fastest framework of a target that took part, or None."""
    times = [(result.time_of(name), name) for name in target.against]
    found = [(seconds, name) for seconds, name in times if seconds is not None]
    return (min(found)[1], min(found)[0]) if found else None


def unequal(result: Result) -> list[str]:
    """A line for each contender whose first losses are not ours."""
    if not result.case.compared or not result.ours.losses:
        return []
    lines = []
    for figures in result.figures[1:]:
        pairs = zip(figures.losses, result.ours.losses, strict=False)
        away = max((abs(a - b) / abs(b) for a, b in pairs), default=0.0)
        if away > result.case.tolerance:
            lines.append(f"{figures.name}: losses {figures.losses}, ours {result.ours.losses}")
    return lines


def table(result: Result, limits: Limits) -> Table:
    """A line per contender, and what was aimed at."""
    made = Table(title=result.case.name, title_justify="left", box=None, pad_edge=False)
    for column in ("", "step", "spread", "samples", "÷ ours", "first step", "memory", "with"):
        text = column in ("", "with")
        made.add_column(column, justify="left" if text else "right", no_wrap=column != "with")
    for figures in result.figures:
        made.add_row(*line(result, figures))
    for verdict in verdicts(result, limits):
        aim = f"aimed at {verdict.least:g}, then {verdict.aim:g}"
        made.add_row(Text(verdict.text, style=verdict.style), "", "", "", "", "", "", aim)
    for text in unequal(result):
        made.add_row(Text(f"unequal: {text}", style="red"))
    return made


def summary(results: list[Result], limits: Limits) -> Table:
    """Every figure that something was aimed at, beside the least and the aim."""
    made = Table(title="all targets", title_justify="left", box=None, pad_edge=False)
    for column in ("case", "measured", "promised", "aim"):
        made.add_column(column, justify="left" if column in ("case", "measured") else "right")
    for result in results:
        for verdict in verdicts(result, limits):
            aims = (f"{verdict.sign} {bound:g}" for bound in (verdict.least, verdict.aim))
            made.add_row(result.case.name, Text(verdict.text, style=verdict.style), *aims)
    return made


def line(result: Result, figures: Figures) -> tuple[str, ...]:
    """One contender."""
    if figures.failed:
        return figures.name, "-", "", "", "", "", "", figures.failed
    ours, theirs = result.time_of("gnomon"), result.time_of(figures.name)
    samples = f"{len(figures.clean)}+{len(figures.dirty)}"
    memory = max(figures.peak_first, figures.peak) - figures.before
    warm = f", then {time_text(1e9 * figures.warm)}" if figures.warm else ""
    return (
        figures.name,
        time_text(1e9 * figures.seconds) if figures.times else "-",
        f"{figures.spread:.0%}" if figures.times else "",
        samples if figures.times else "",
        f"{theirs / ours:.2f}" if ours and theirs else "",
        time_text(1e9 * figures.cold) + warm,
        f"+{memory / 1e6:.0f} MB",
        ", ".join(str(value) for value in figures.about.values()),
    )


def kernel_table(result: Result, limits: Limits) -> Table:
    """The costliest kernels of ours, beside the machine's limits."""
    made = Table(box=None, pad_edge=False, title_justify="left", title="where our time goes")
    for column in ("kernel", "calls", "time", "part", "GFLOP/s", "of peak", "GB/s", "operands"):
        text = column in ("kernel", "operands")
        made.add_column(column, justify="left" if text else "right", no_wrap=not text)
    rows = result.ours.rows
    total = sum(row["seconds"] for row in rows)
    for row in rows[:MOST_ROWS]:
        speed = row["flops"] / row["seconds"]
        made.add_row(
            *(row["name"], str(row["calls"]), time_text(1e9 * row["seconds"])),
            *(f"{row['seconds'] / total:.0%}", f"{speed / 1e9:.1f}", f"{speed / limits.flops:.0%}"),
            *(f"{row['bytes'] / row['seconds'] / 1e9:.1f}", row["operands"]),
        )
    floor = result.case.flops / limits.flops
    made.add_row("all", str(sum(r["calls"] for r in rows)), time_text(1e9 * total), "", "", "", "",
                 f"floor {time_text(1e9 * floor)}" if floor else "")  # fmt: skip
    return made


def as_values(results: list[Result], limits: Limits, machine: dict[str, Any]) -> dict[str, Any]:
    """The machine, its limits and all results with verdicts, as plain data for a JSON file."""
    return {
        "machine": machine,
        "limits": asdict(limits),
        "cases": [
            {
                "name": result.case.name,
                "workload": result.case.workload,
                "settings": result.case.settings,
                "contenders": [asdict(figures) for figures in result.figures],
                "verdicts": [vars(verdict) for verdict in verdicts(result, limits)],
                "unequal": unequal(result),
            }
            for result in results
        ],
    }
