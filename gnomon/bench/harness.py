"""The harness: all contenders of a case are sampled in rounds and compared by medians.

Every sample waits until the machine is otherwise idle; a sample during which others took time, or
after which the peak was not there, is taken again, and counts only when there is no clean one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from gnomon.bench.cases import Case
from gnomon.bench.peers import Contender, Peer, contenders_of, write_byte_code
from gnomon.bench.problems import write_problem
from gnomon.bench.quiet import QuietWatch, wait_for_quiet
from gnomon.bench.worker import BenchWorker, Failed
from gnomon.profiler.limits import Limits, peak_now

__all__ = ["Figures", "Options", "Result", "run_case"]

Say = Callable[[str], None]
PROBES = 10
"""Looks at the peak beside a list of kernels, of a millisecond each."""


@dataclass(frozen=True)
class Options:
    """Options of a measurement: its length and its care."""

    rounds: int = 5
    """Clean samples that each contender takes."""
    seconds: float = 0.5
    """The least that a sample takes."""
    threads: int = 2
    patience: float = 20.0
    """Seconds that a sample waits for others to be idle."""
    tries: int = 3
    """A contender takes at most so many times its rounds."""
    kept_peak: float = 0.85
    """The part of the measured peak that has to be there before a sample."""


@dataclass
class Figures:
    """Measurements of one contender: seconds, bytes, and what it says of itself."""

    name: str
    failed: str = ""
    clean: list[float] = field(default_factory=list)
    dirty: list[float] = field(default_factory=list)
    cold: float = 0.0
    """From the start of its process to the end of its first step, caches empty."""
    warm: float = 0.0
    """The same again, with the caches that the first process filled."""
    first: float = 0.0
    second: float = 0.0
    imported: float = 0.0
    before: int = 0
    peak_first: int = 0
    """Bytes at most during the first three steps, and before them."""
    peak: int = 0
    losses: list[float] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    rows: list[dict] = field(default_factory=list)
    """Our kernels."""

    @property
    def times(self) -> list[float]:
        """The samples that count."""
        return self.clean or self.dirty

    @property
    def seconds(self) -> float:
        """The median step."""
        return median(self.times)

    @property
    def spread(self) -> float:
        """The distance of the slowest and the fastest sample, as a part of the median."""
        return (max(self.times) - min(self.times)) / self.seconds


@dataclass
class Result:
    """The figures of a case, of Gnomon first."""

    case: Case
    figures: list[Figures]
    peak: float = 0.0
    """The most multiplications and additions per second of all probes during the case."""

    def probe(self, threads: int) -> float:
        """The machine's speed at this moment."""
        now = peak_now(threads)
        self.peak = max(self.peak, now)
        return now

    @property
    def ours(self) -> Figures:
        """Our own measurements."""
        return self.figures[0]

    def time_of(self, name: str) -> float | None:
        """A contender's time that counts: that of a step, or of its first if the case says so."""
        for figures in self.figures:
            if figures.name == name and not figures.failed and (figures.times or self.case.cold):
                return figures.cold if self.case.cold else figures.seconds
        return None


def run_case(case: Case, peers: list[Peer], limits: Limits, options: Options, say: Say) -> Result:
    """Measure one case."""
    with tempfile.TemporaryDirectory(prefix="gnomon-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        write_problem(case.problem, case.settings, folder)
        result, workers = Result(case, []), {}
        if case.cold:
            write_byte_code()
        for contender in contenders_of(case, peers, folder / "caches"):
            say(f"{case.name}: {contender.name} starts")
            figures = Figures(contender.name)
            result.figures.append(figures)
            try:
                worker = begin(case, contender, figures, folder, options)
            except Failed as failed:
                figures.failed = str(failed)
                continue
            stack.callback(worker.end)
            workers[contender.name] = worker
        if not case.cold:
            take_samples(result, workers, limits, options, say)
        finish(result, workers, options)
    return result


def begin(
    case: Case, contender: Contender, figures: Figures, folder: Path, options: Options
) -> BenchWorker:
    """Start a contender, and again when it matters how a second process starts."""
    worker = BenchWorker(contender, folder, options.threads)
    figures.cold = worker.first_steps["until_first"]
    if case.cold:
        worker.end()
        worker = BenchWorker(contender, folder, options.threads)
        figures.warm = worker.first_steps["until_first"]
    first = worker.first_steps
    figures.first, figures.second, figures.imported = (
        first[part] for part in ("first", "second", "imported")
    )
    figures.before, figures.peak_first = first["memory"]["before"], first["memory"]["peak"]
    figures.losses, figures.about = first["losses"], first["about"]
    return worker


def take_samples(
    result: Result, workers: dict[str, BenchWorker], limits: Limits, options: Options, say: Say
) -> None:
    """Round after round, every contender that has not enough clean samples takes one."""
    processes = [worker.process.pid for worker in workers.values()]
    playing = [f for f in result.figures if not f.failed]

    def whole() -> bool:
        now = result.probe(options.threads)
        return now >= options.kept_peak * max(limits.flops, result.peak)

    for sample in range(options.rounds * options.tries):
        waiting = [f for f in playing if len(f.clean) < options.rounds]
        if not waiting:
            break
        for figures in waiting:
            say(f"{result.case.name}: sample {sample + 1}, {figures.name}")
            worker = workers[figures.name]
            quiet = wait_for_quiet(processes, options.patience, whole)
            try:
                with QuietWatch(processes) as watch:
                    answer = worker.ask(run=options.seconds)
            except Failed as failed:
                figures.failed = str(failed)
                playing.remove(figures)
                continue
            kept = figures.clean if quiet and watch.clean else figures.dirty
            kept.append(median(answer["seconds"]))
            figures.peak = max(figures.peak, answer["memory"].get("peak", 0))


def finish(result: Result, workers: dict[str, BenchWorker], options: Options) -> None:
    """Ask where our time went, and what the machine can do right after."""
    if result.ours.name in workers:
        answer = workers[result.ours.name].ask(profile=3)
        for _ in range(PROBES):
            result.probe(options.threads)
        result.ours.rows = answer.get("rows", [])
        result.ours.about |= answer.get("figures", {})
