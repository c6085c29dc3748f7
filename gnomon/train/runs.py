"""Folders of runs: making a new one, finding an old one.

runs/python-20261121-090807/
    config.json  corpus.json  metrics.jsonl  summary.json  loss.svg  sample.txt  checkpoints/
"""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import CheckpointError, ConfigError
from gnomon.runtime.files import publish
from gnomon.train.checkpoint import (
    Checkpoint,
    checkpoints,
    newest,
    open_checkpoint,
    read_json,
    to_json,
    verified,
)
from gnomon.train.config import Config, build, near, overridden, to_dict
from gnomon.train.lock import ASIDE, LOCK, Lock
from gnomon.train.recipes import configure
from gnomon.train.resuming import weighed
from gnomon.train.team import Team

__all__ = [
    "RUNS",
    "TrainingRun",
    "begin",
    "find_checkpoint",
    "find_run",
    "is_run",
    "latest_run",
    "new_run",
    "read_config",
    "resumable",
    "together",
    "write_config",
]

RUNS = Path("runs")
CONFIG = "run.json"


@dataclass(frozen=True)
class TrainingRun:
    """A run that is about to start or resume."""

    folder: Path
    config: Config
    lock: Lock | None
    checkpoint: Checkpoint | None = None
    """The checkpoint to resume from; None for a new run."""
    remarks: tuple[str, ...] = ()
    branches: tuple[dict[str, object], ...] = ()
    """The steps at which the run continued with changed learning settings."""


def begin(recipe: str | None, changes: list[str], resume: bool) -> TrainingRun:
    """Create a new run, or open one to resume.

    A resumed run has its recorded configuration with `changes`; recipe only selects the run if
    run.dir is not set. If the folder run.dir exists without a run, one begins in it.
    """
    if resume:
        wanted = overridden({}, changes).get("run", {}).get("dir")
        folder = (
            Path(wanted) if wanted else latest_run(configure(recipe, []).run.name if recipe else "")
        )
        if is_run(folder):
            return go_on(folder, changes)
        refuse_missing(folder)
    config = configure(recipe or "python", changes)
    folder = new_run(config.run.name, config.run.dir)
    lock = Lock(folder)
    # somebody else may have begun here before the lock was taken
    refuse_full(folder)
    write_config(folder, config)
    return TrainingRun(folder, config, lock)


def refuse_missing(folder: Path) -> None:
    """Refuse to resume a run in a missing folder, whose name may be misspelled."""
    if not folder.exists():
        beside = [path.parent.name for path in folder.parent.glob(f"*/{CONFIG}")]
        others = f": {near(folder.name, beside)}" if beside else "."
        raise ConfigError(
            f"run.dir: {folder} is not there, so nothing can go on in it{others} "
            "Leave out --resume to begin a run there."
        )


def resumable(
    command: Sequence[str], ranks: Sequence[int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A train command with a fixed folder, and the command that resumes the run there.

    ranks: the number of ranks of the first launch, and of later ones.
    """
    if len(set(ranks)) > 1 and any(word.startswith("--mesh") for word in command):
        raise ConfigError(
            f"launch: -n {','.join(map(str, ranks))}: --mesh says how a number of ranks stands. "
            "Leave it out, or launch as many ranks each time."
        )
    first = tuple(command)
    if not any(word.startswith("run.dir=") for word in command):
        named = [word for word in command[1:2] if not word.startswith("-")]
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        name = Path(named[0]).stem if named else "run"
        folder = RUNS / f"{name}-{stamp}-{os.getpid()}"
        first += ("--set", f"run.dir={folder}")
    if "--resume" in first:
        return first, first
    # ranks that are lost before the run has begun find its folder there
    for word in first:
        if word.startswith("run.dir="):
            Path(word.removeprefix("run.dir=")).mkdir(parents=True, exist_ok=True)
    return first, (*first, "--resume")


def together(run: TrainingRun | None, team: Team) -> TrainingRun:
    """The run on every rank, from the first one, which has begun it and holds its lock."""
    shared = None
    if run is not None:
        at = run.checkpoint and str(run.checkpoint.folder)
        shared = [str(run.folder), to_dict(run.config), at, list(run.branches)]
    folder, config, at, branches = team.share(shared)
    if run is not None:
        return run
    checkpoint = open_checkpoint(Path(at)) if at else None
    return TrainingRun(Path(folder), build(config), None, checkpoint, branches=tuple(branches))


def go_on(folder: Path, changes: list[str]) -> TrainingRun:
    """An existing run, resumed from its newest valid checkpoint, or from its start without one."""
    lock = Lock(folder)
    checkpoint, problems = newest(folder)
    if checkpoint is None and problems:
        raise CheckpointError(
            "\n".join([f"resume: {folder} has no whole checkpoint. Start a new run.", *problems])
        )
    before, remarks = recorded_config(folder, checkpoint)
    config = build(overridden(to_dict(before), changes))
    made, done, branches = before, 0, []
    if checkpoint is not None:
        made, done = build(checkpoint.trainer.get("config") or to_dict(before)), checkpoint.step
        branches = list(checkpoint.trainer.get("branches", []))
    free, branch = weighed(made, config, done)
    remarks += map(str, [*free, *branch])
    if branch:
        changed = {x.key: [x.before, x.now] for x in branch}
        branches.append({"after_step": done, "changed": changed})
        remarks.append(f"a branch of the run begins after step {done}: its summary will say so")
    write_config(folder, config)
    where = f"after step {done}" if checkpoint else "from the start: nothing was saved"
    said = (*problems, *remarks, f"{folder}: going on {where}")
    return TrainingRun(folder, config, lock, checkpoint, said, tuple(branches))


def recorded_config(folder: Path, checkpoint: Checkpoint | None) -> tuple[Config, list[str]]:
    """The configuration of a run from its folder, or else from its checkpoint; and remarks."""
    try:
        return read_config(folder), []
    except (CheckpointError, ConfigError) as wrong:
        if checkpoint is None or not checkpoint.trainer.get("config"):
            raise
        said = f"{wrong} The configuration is taken from {checkpoint.folder}."
        return build(checkpoint.trainer["config"]), [said]


def new_run(name: str, wanted: str | None) -> Path:
    """Create the folder of a new run: the given one, or one with the date in its name."""
    if wanted is not None:
        folder = Path(wanted)
        refuse_full(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in itertools.count(1):
        folder = RUNS / (f"{name}-{stamp}" if number == 1 else f"{name}-{stamp}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise AssertionError("count never ends")


def refuse_full(folder: Path) -> None:
    """Refuse a folder with other files than the leftovers of a run that did not begin."""
    there = folder.exists()
    if there and (not folder.is_dir() or any(not is_left(x.name) for x in folder.iterdir())):
        raise ConfigError(
            f"run.dir: {folder} is not empty. Continue what is there with --resume, "
            "or name another folder."
        )


def is_left(name: str) -> bool:
    """Whether a name is that of a leftover of a run that did not begin."""
    return name == LOCK or bool(ASIDE.fullmatch(name))


def latest_run(name: str = "") -> Path:
    """The latest run in runs/ whose folder's name starts with `name`."""
    found = [path.parent for path in RUNS.glob(f"{name}*/{CONFIG}")]
    if not found:
        raise ConfigError(f"no run in {RUNS / name}*. Start one: gnomon train {name}.")
    return max(found, key=lambda path: (path / CONFIG).stat().st_mtime_ns)


def find_run(name: str | None) -> Path:
    """The run of a folder or of a name in runs/; None: the latest."""
    if name is None:
        return latest_run()
    for folder in (Path(name), RUNS / name):
        if is_run(folder):
            return folder
    known = sorted(path.parent.name for path in RUNS.glob(f"*/{CONFIG}"))
    listed = f" Known: {', '.join(known[-5:])}." if known else " Start one: gnomon train."
    raise ConfigError(f"{name} is not a run.{listed}")


def find_checkpoint(name: str | None) -> Checkpoint:
    """The checkpoint in a folder, or the newest valid one of a run."""
    if name is not None and (Path(name) / "trainer.json").is_file():
        return verified(Path(name))
    run = find_run(name)
    checkpoint, problems = newest(run)
    if checkpoint is None:
        raise CheckpointError("\n".join([f"{run} has no whole checkpoint.", *problems]))
    return checkpoint


def write_config(run: Path, config: Config) -> None:
    """Write the configuration of a run."""
    publish(run / CONFIG, to_json(to_dict(config)))


def read_config(run: Path) -> Config:
    """The configuration of a run."""
    path = run / CONFIG
    try:
        return build(read_json(path))
    except ConfigError as wrong:
        raise ConfigError(f"{path}: {wrong}") from None


def is_run(folder: Path) -> bool:
    """Whether a folder contains a run."""
    return (folder / CONFIG).is_file() or bool(checkpoints(folder))
