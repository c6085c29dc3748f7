"""`gnomon profile`: profile steps of a recipe, and write and print the results.

Tokens are random: the cost of a step does not depend on them, and no text must be read.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from rich.console import Console

import gnomon as gn
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import ALONE
from gnomon.distributed.plans import PLAN, distribute
from gnomon.errors import ConfigError
from gnomon.models.registry import kind_of
from gnomon.profiler.chrome import write_chrome
from gnomon.profiler.compare import compare_table
from gnomon.profiler.memory import memory_timeline
from gnomon.profiler.model import Event, Profile
from gnomon.profiler.page import write_page
from gnomon.profiler.perfetto import write_perfetto
from gnomon.profiler.ranks import as_one, standstill_table, standstills
from gnomon.profiler.reports import why_recompiled
from gnomon.profiler.schedule import schedule
from gnomon.profiler.session import profile as profiled
from gnomon.profiler.store import PROFILE, read_profile, write_profile
from gnomon.profiler.tables import line_table, memory_table, summary, wide_console
from gnomon.program import records
from gnomon.runtime.comm.watch import of_process
from gnomon.train.config import Config
from gnomon.train.learning_rate import factor_at
from gnomon.train.progress import WARMING
from gnomon.train.recipes import configure
from gnomon.train.step import TrainStep, make_optimizer
from gnomon.train.team import Team

__all__ = ["PROFILES", "ProfileOptions", "compare", "measured", "profile"]

PROFILES = Path("profiles")
TRACE, PERFETTO, PAGE, RECORDS = "trace.json", "trace.pftrace", "profile.html", "records.json"
WIDTH = 150
"""The number of columns without a terminal."""


@dataclass(frozen=True)
class ProfileOptions:
    """The options of `gnomon profile`."""

    recipe: str = "python"
    changes: tuple[str, ...] = ()
    steps: int = 5
    out: Path | None = None


def profile(
    wanted: ProfileOptions, console: Console | None = None, team: Team | None = None
) -> Path:
    """Profile steps of a recipe, write all files, and print where time and memory go.

    The first rank of a team writes, for all of them, on its clock.
    """
    if wanted.steps < 1:
        raise ConfigError(f"profile: --steps: expected int >= 1: got {wanted.steps}.")
    if wanted.out is not None and wanted.out.exists() and not wanted.out.is_dir():
        raise ConfigError(f"profile: --out: {wanted.out} is a file. Name a folder.")
    console = console or wide_console(WIDTH)
    config = configure(wanted.recipe, list(wanted.changes))
    if config.run.threads:
        gn.set_num_threads(config.run.threads)
    made, zero = recorded_rank(config, wanted.steps, team.mesh if team else ALONE)
    ranks: list[Profile] = []
    folder = wanted.out or PROFILES / f"{config.run.name}-{datetime.datetime.now():%Y%m%d-%H%M%S}"
    if team is not None and team.mesh.size() > 1:
        ranks, error = gathered_profiles(made, zero, team)
        if not team.leads:
            return folder
        made = as_one(ranks)
        console.print(standstill_table(standstills(ranks)))
        console.print(f"clocks of ranks agree within {1e-3 * error:.0f} µs", highlight=False)
    written = write_all(made, folder, f"{config.run.name}, {wanted.steps} steps", ranks)
    tell(console, made)
    for path, what in written.items():
        console.print(f"{path!s:<{len(str(folder)) + 16}} {what}", highlight=False)
    return folder


def gathered_profiles(made: Profile, zero: int, team: Team) -> tuple[list[Profile], int]:
    """The profiles of all ranks, and the largest error of their clocks in nanoseconds.

    zero: this rank's time at which its profile begins.
    """
    watch = of_process()
    offset, error = watch.clock() if watch else (0, 0)
    clocks = team.gather([zero + offset, error])
    started, errors = zip(*clocks, strict=True)
    own = replace(
        made, rank=team.rank, world=team.mesh.size(), clock_offset=started[team.rank] - started[0]
    )
    texts = team.gather(msgspec.json.encode(own).decode())
    return [msgspec.json.decode(each, type=Profile) for each in texts], errors[0] + max(errors)


def measured(config: Config, steps: int) -> Profile:
    """The profile of a recipe's steps on one process, with the passes of compilation."""
    return recorded_rank(config, steps, ALONE)[0]


def recorded_rank(config: Config, steps: int, mesh: DeviceMesh) -> tuple[Profile, int]:
    """Profile the steps on one rank of a mesh; also the process's clock at the profile's zero."""
    step = prepared_step(config, mesh)
    with profiled() as compiling:
        for _ in range(WARMING):
            step()
    with profiled(schedule=schedule(wait=0, warmup=0, active=steps, repeat=1)) as running:
        for _ in range(steps):
            step()
            running.step()
    made = with_compilation(compiling.data, running.data)
    later = made.events[-1].start - running.data.events[-1].start if made.events else 0
    return made, running.began - later


def prepared_step(config: Config, mesh: DeviceMesh = ALONE) -> Callable[[], tuple[float, float]]:
    """A function that runs a recipe's step on random tokens."""
    kind = kind_of(config.model)
    model = kind.model(config.model)
    kind.initialize(model, config.run.seed)
    distribute(model, PLAN.table(model, kind.axes, mesh), mesh)
    step = TrainStep(model, make_optimizer(model, config), config, mesh)
    random = np.random.default_rng(config.run.seed)
    shape = (config.train.batch_size, config.train.sequence_length + 1)

    def take() -> tuple[float, float]:
        window = random.integers(0, config.model.vocab_size, shape, np.int64)
        return step(window, config.optimizer.learning_rate * factor_at(step.taken, config))

    return take


def with_compilation(compiling: Profile, running: Profile) -> Profile:
    """The profile of steps, preceded by the passes that compiled their programs."""
    passes = [event for event in compiling.events if event.kind == "compile"]
    first = min((event.start for event in passes), default=0)
    later = max((event.end - first for event in passes), default=0)
    earlier = [moved_later(event, -first) for event in passes]
    return replace(running, events=[*earlier, *(moved_later(e, later) for e in running.events)])


def moved_later(event: Event, by: int) -> Event:
    """A copy of an event, `by` nanoseconds later."""
    return replace(event, start=event.start + by, end=event.end + by)


def write_all(
    made: Profile, folder: Path, title: str, ranks: Sequence[Profile] = ()
) -> dict[Path, str]:
    """Write a profile in all formats; returns each file's description."""
    folder.mkdir(parents=True, exist_ok=True)
    write_page(made, folder / PAGE, title)
    write_chrome(ranks or made, folder / TRACE)
    write_perfetto(ranks or made, folder / PERFETTO)
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
    """Print the ten costliest lines, and the largest buffers at the peak of memory."""
    console.print(summary(made), highlight=False)
    console.print()
    console.print(line_table(made))
    memory = memory_timeline(made)
    if memory.peak:
        console.print()
        console.print(memory_table(memory, most=5))
    reasons = why_recompiled(made)
    if reasons:
        console.print("\n".join(["", "recompiled:", *reasons]), highlight=False, markup=False)
    console.print()


def compare(before: Path, after: Path, console: Console | None = None) -> None:
    """Print the differences between two profiles, by line."""
    console = console or wide_console(WIDTH)
    first, second = read_profile(before), read_profile(after)
    for path, made in ((before, first), (after, second)):
        console.print(f"{path}: {summary(made)}", highlight=False)
    console.print()
    console.print(compare_table(first, second))
