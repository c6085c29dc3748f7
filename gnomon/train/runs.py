"""Folders of runs: making a new one, finding an old one.

runs/python-20261121-090807/
    config.json  corpus.json  metrics.jsonl  summary.json  loss.svg  sample.txt  checkpoints/
"""

from __future__ import annotations

import datetime
import itertools
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import CheckpointError, ConfigError
from gnomon.runtime.files import publish
from gnomon.train.checkpoint import Checkpoint, newest, read, read_json, to_json
from gnomon.train.config import Config, build, overridden, to_dict
from gnomon.train.recipes import configure

__all__ = [
    "RUNS",
    "Run",
    "begin",
    "find_checkpoint",
    "find_run",
    "is_run",
    "latest_run",
    "new_run",
    "read_config",
    "write_config",
]

RUNS = Path("runs")
CONFIG = "run.json"


@dataclass(frozen=True)
class Run:
    """A run about to begin or to go on."""

    folder: Path
    config: Config
    checkpoint: Checkpoint | None = None
    """Where it goes on from."""
    remarks: tuple[str, ...] = ()


def begin(recipe: str | None, changes: list[str], resume: bool) -> Run:
    """A new run, or an old one to go on with.

    What an old run recorded holds, with the changes made to it; RECIPE only says which one is meant
    when run.dir does not. Nothing to go on with in run.dir: the run begins there.
    """
    if resume:
        wanted = overridden({}, changes).get("run", {}).get("dir")
        folder = (
            Path(wanted) if wanted else latest_run(configure(recipe, []).run.name if recipe else "")
        )
        if is_run(folder):
            return go_on(folder, changes)
    config = configure(recipe or "python", changes)
    folder = new_run(config.run.name, config.run.dir)
    write_config(folder, config)
    return Run(folder, config)


def go_on(folder: Path, changes: list[str]) -> Run:
    """An old run from its newest whole checkpoint, or from its start if it has none."""
    before = read_config(folder)
    config = build(overridden(to_dict(before), changes))
    for group in ("corpus", "model"):
        if getattr(config, group) != getattr(before, group):
            raise ConfigError(f"resume: {group} must stay as it was in {folder}. Start a new run.")
    checkpoint, problems = newest(folder)
    write_config(folder, config)
    where = f"after step {checkpoint.step}" if checkpoint else "from the start: nothing was saved"
    return Run(folder, config, checkpoint, (*problems, f"{folder}: going on {where}"))


def new_run(name: str, wanted: str | None) -> Path:
    """Make the folder of a new run: the wanted one, or one with the date in its name."""
    if wanted is not None:
        folder = Path(wanted)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(
                f"run.dir: {folder} is not empty. Continue what is there with --resume, "
                "or name another folder."
            )
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


def latest_run(name: str = "") -> Path:
    """The run that was begun last among those in runs/ whose folder's name begins so."""
    found = [path.parent for path in RUNS.glob(f"{name}*/{CONFIG}")]
    if not found:
        raise ConfigError(f"no run in {RUNS / name}*. Start one: gnomon train {name}.")
    return max(found, key=lambda path: (path / CONFIG).stat().st_mtime_ns)


def find_run(name: str | None) -> Path:
    """A run by its folder or its name in runs/; none: the latest."""
    if name is None:
        return latest_run()
    for folder in (Path(name), RUNS / name):
        if is_run(folder):
            return folder
    known = sorted(path.parent.name for path in RUNS.glob(f"*/{CONFIG}"))
    listed = f" Known: {', '.join(known[-5:])}." if known else " Start one: gnomon train."
    raise ConfigError(f"{name} is not a run.{listed}")


def find_checkpoint(name: str | None) -> Checkpoint:
    """A checkpoint by its own folder, or the newest whole one of a run."""
    if name is not None and (Path(name) / "trainer.json").is_file():
        return read(Path(name))
    run = find_run(name)
    checkpoint, problems = newest(run)
    if checkpoint is None:
        raise CheckpointError("\n".join([f"{run} has no whole checkpoint.", *problems]))
    return checkpoint


def write_config(run: Path, config: Config) -> None:
    """Record what a run is made of."""
    publish(run / CONFIG, to_json(to_dict(config)))


def read_config(run: Path) -> Config:
    """What a run is made of."""
    return build(read_json(run / CONFIG))


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run."""
    return (folder / CONFIG).is_file()
