"""`gnomon profile`: steps of a recipe under the profiler, and what is written and said about them.

Tokens are drawn at random: what a step costs does not depend on them, and no text has to be read.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from rich.console import Console

import gnomon as gn
from gnomon import records
from gnomon.errors import ConfigError
from gnomon.models.initialization import initialize
from gnomon.models.qwen3 import Qwen3ForCausalLM
from gnomon.profiler.chrome import write_chrome
from gnomon.profiler.compare import compare_table
from gnomon.profiler.memory import memory_timeline
from gnomon.profiler.model import Event, Profile
from gnomon.profiler.page import write_page
from gnomon.profiler.perfetto import write_perfetto
from gnomon.profiler.reports import why_recompiled
from gnomon.profiler.schedule import schedule
from gnomon.profiler.session import profile as recorded
from gnomon.profiler.store import PROFILE, read_profile, write_profile
from gnomon.profiler.tables import line_table, memory_table, summary
from gnomon.train.config import Config
from gnomon.train.learning_rate import factor_at
from gnomon.train.loop import WARMING
from gnomon.train.recipes import configure
from gnomon.train.step import Step, make_optimizer

__all__ = ["PROFILES", "Wanted", "compare", "measured", "profile"]

PROFILES = Path("profiles")
TRACE, PERFETTO, PAGE, RECORDS = "trace.json", "trace.pftrace", "profile.html", "records.json"
WIDTH = 150
"""Columns where there is no terminal."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    recipe: str = "python"
    changes: tuple[str, ...] = ()
    steps: int = 5
    out: Path | None = None


def profile(wanted: Wanted, console: Console | None = None) -> Path:
    """Record steps of a recipe, write everything about them, show where time and memory go."""
    if wanted.steps < 1:
        raise ConfigError(f"profile: --steps: expected int >= 1: got {wanted.steps}.")
    if wanted.out is not None and wanted.out.exists() and not wanted.out.is_dir():
        raise ConfigError(f"profile: --out: {wanted.out} is a file. Name a folder.")
    console = console or wide_console()
    config = configure(wanted.recipe, list(wanted.changes))
    if config.run.threads:
        gn.set_num_threads(config.run.threads)
    made = measured(config, wanted.steps)
    folder = wanted.out or PROFILES / f"{config.run.name}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    written = write(made, folder, f"{config.run.name}, {wanted.steps} steps")
    tell(console, made)
    for path, what in written.items():
        console.print(f"{path!s:<{len(str(folder)) + 16}} {what}", highlight=False)
    return folder


def measured(config: Config, steps: int) -> Profile:
    """The profile of a recipe's steps, with the passes of the compilation before them."""
    step = prepared(config)
    with recorded() as compiling:
        for _ in range(WARMING):
            step()
    with recorded(schedule=schedule(wait=0, warmup=0, active=steps, repeat=1)) as running:
        for _ in range(steps):
            step()
            running.step()
    return joined(compiling.data, running.data)


def prepared(config: Config) -> Callable[[], tuple[float, float]]:
    """A recipe's step on tokens of its own."""
    model = Qwen3ForCausalLM(config.model)
    initialize(model, config.run.seed)
    step = Step(model, make_optimizer(model, config), config)
    random = np.random.default_rng(config.run.seed)
    shape = (config.train.batch_size, config.train.sequence_length + 1)

    def take() -> tuple[float, float]:
        window = random.integers(0, config.model.vocab_size, shape, np.int64)
        return step(window, config.optimizer.learning_rate * factor_at(step.taken, config))

    return take


def joined(compiling: Profile, running: Profile) -> Profile:
    """Steps, and before them the passes that compiled their programs."""
    passes = [event for event in compiling.events if event.kind == "compile"]
    first = min((event.start for event in passes), default=0)
    later = max((event.end - first for event in passes), default=0)
    earlier = [moved(event, -first) for event in passes]
    return replace(running, events=[*earlier, *(moved(e, later) for e in running.events)])


def moved(event: Event, by: int) -> Event:
    """The same event at another time."""
    return replace(event, start=event.start + by, end=event.end + by)


def write(made: Profile, folder: Path, title: str) -> dict[Path, str]:
    """Write a profile in all its forms; what each file is."""
    folder.mkdir(parents=True, exist_ok=True)
    write_page(made, folder / PAGE, title)
    write_chrome(made, folder / TRACE)
    write_perfetto(made, folder / PERFETTO)
    records.save(folder / RECORDS, made.records.values())
    write_profile(made, folder / PROFILE)
    return {
        folder / PAGE: "source, graph, code, timeline, roofline, memory: open it in a browser",
        folder / TRACE: "for chrome://tracing",
        folder / PERFETTO: "for ui.perfetto.dev",
        folder / RECORDS: "what each kernel is made of",
        folder / PROFILE: "for gnomon profile --compare",
    }


def tell(console: Console, made: Profile) -> None:
    """Show the ten costliest lines, and the largest buffers at the peak of memory."""
    console.print(summary(made), highlight=False)
    console.print()
    console.print(line_table(made))
    memory = memory_timeline(made)
    if memory.peak:
        console.print()
        console.print(memory_table(memory, most=5))
    again = why_recompiled(made)
    if again:
        console.print("\n".join(["", "captured again:", *again]), highlight=False, markup=False)
    console.print()


def compare(before: Path, after: Path, console: Console | None = None) -> None:
    """Show what changed between two profiles, by line."""
    console = console or wide_console()
    first, second = read_profile(before), read_profile(after)
    for path, made in ((before, first), (after, second)):
        console.print(f"{path}: {summary(made)}", highlight=False)
    console.print()
    console.print(compare_table(first, second))


def wide_console() -> Console:
    """The terminal, or lines of a fixed width in a file."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=WIDTH)
