"""`gnomon bench`: words become cases and peers, cases become tables, and files if asked for."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.status import Status

import gnomon as gn
from gnomon.bench.cases import WORKLOADS, cases_of
from gnomon.bench.chart import chart
from gnomon.bench.collectives import (
    COLLECTIVES,
    PEERS,
    collectives_table,
    measure_collectives,
)
from gnomon.bench.harness import Options, Result, run_case
from gnomon.bench.peers import parse_peers
from gnomon.bench.report import as_values, kernel_table, summary, table
from gnomon.compiler.target import machine
from gnomon.errors import ConfigError
from gnomon.profiler.limits import Limits, measured_limits
from gnomon.profiler.tables import wide_console

__all__ = ["BenchOptions", "bench"]


WIDTH = 160
"""Columns where there is no terminal."""


@dataclass(frozen=True)
class BenchOptions:
    """Options of the command line."""

    workloads: tuple[str, ...]
    peers: str
    json: Path | None
    svg: Path | None
    options: Options


def bench(wanted: BenchOptions, console: Console | None = None) -> list[Result]:
    """Measure, print, write."""
    console = console or wide_console(WIDTH)
    known = (*WORKLOADS, COLLECTIVES)
    unknown = [word for word in wanted.workloads if word not in known]
    if unknown:
        raise ConfigError(f"bench: no workload {unknown[0]!r}. There are {', '.join(known)}.")
    if COLLECTIVES in wanted.workloads:
        bench_collectives(wanted, console)
        rest = tuple(word for word in wanted.workloads if word != COLLECTIVES)
        if not rest:
            return []
        words = [word for word in wanted.peers.split(",") if word not in PEERS]
        wanted = replace(wanted, workloads=rest, peers=",".join(words))
    peers, missing = parse_peers(wanted.peers)
    for line in missing:
        console.print(line, style="yellow")
    with Status("the machine's limits", console=console) as status:
        limits = measured_limits(wanted.options.threads)
        console.print(limits_line(limits, wanted.options.threads))
        results = []
        for case in cases_of(wanted.workloads):
            results.append(run_case(case, peers, limits, wanted.options, status.update))
            limits = limits.at_least(results[-1].peak)
            show(console, results[-1], limits)
            write_outputs(wanted, results, limits)
    if len(results) > 1:
        console.print()
        console.print(summary(results, limits))
    return results


def bench_collectives(wanted: BenchOptions, console: Console) -> None:
    """Ranks that are launched; a workload of its own, since contenders share their processes."""
    peers = [word for word in wanted.peers.split(",") if word in PEERS]
    # calls of microseconds, whose medians need many rounds and little time
    rows = measure_collectives(peers or ["mpi4py"], max(wanted.options.rounds, 30))
    console.print(collectives_table(rows))
    if wanted.json:
        content = msgspec.json.encode({"collectives": rows, "machine": this_machine()})
        wanted.json.write_bytes(msgspec.json.format(content, indent=1) + b"\n")


def limits_line(limits: Limits, threads: int) -> str:
    """The machine's limits."""
    return (
        f"gnomon {gn.__version__}, {machine().name}, {threads} threads: "
        f"{limits.flops / 1e9:.0f} GFLOP/s; copy {limits.copy / 1e9:.1f} GB/s, past the caches "
        f"{limits.copy_streaming / 1e9:.1f}, read {limits.read / 1e9:.1f}"
    )


def show(console: Console, result: Result, limits: Limits) -> None:
    """Print the result of a case."""
    console.print()
    console.print(table(result, limits))
    if result.ours.rows:
        console.print(kernel_table(result, limits))


def write_outputs(wanted: BenchOptions, results: list[Result], limits: Limits) -> None:
    """Write the output files after every case, so that results survive a later failure."""
    if wanted.json:
        content = msgspec.json.encode(as_values(results, limits, this_machine()))
        wanted.json.write_bytes(msgspec.json.format(content, indent=1) + b"\n")
    if wanted.svg:
        wanted.svg.write_text(chart(f"gnomon {gn.__version__}, {machine().name}", results))


def this_machine() -> dict[str, Any]:
    """The machine on which it was measured."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "processors": os.cpu_count(),
        "instructions": machine().name,
        "gnomon": gn.__version__,
    }
