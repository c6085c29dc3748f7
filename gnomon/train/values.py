"""Values of one step of a run, which `gnomon values` computes by a replay.

They are saved in RUN/values/step-…npz, with a list of their names. Nothing else in the run changes.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from gnomon.errors import CheckpointError, ConfigError
from gnomon.runtime.files import NOT_JSON, make_folder, plain, publish
from gnomon.tensor.computed_values import ValueName
from gnomon.train.checkpoint import Checkpoint, checkpoints, verified
from gnomon.train.hashes import hash_of, read_hashes
from gnomon.train.lock import Lock
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress
from gnomon.train.recording import StepArrays
from gnomon.train.runs import TrainingRun, find_run, read_config, together
from gnomon.train.team import Team

__all__ = ["keep_values", "read_values", "values_of"]

NAMES = "names"
NOT_VALUES = (*NOT_JSON, ValueError, KeyError, EOFError, zipfile.BadZipFile)


def keep_values(name: str, step: int, progress: Progress, team: Team) -> Path:
    """Repeat a run's steps up to one, from the nearest checkpoint, and save that one's values."""
    run = together(reopened_run(name, step) if team.leads else None, team)
    try:
        trainer = Trainer(run.config, run.folder, progress, run.checkpoint, run.lock, team)
        trainer.prepare()
        progress.say(f"taking steps {trainer.done + 1} to {step} again")
        for number in range(trainer.done, step):
            loss, norm = trainer.step(*trainer.given(number))
        path = file_of(run.folder, step)
        arrays = trainer.arrays_of(step - 1, loss, norm)
        if team.leads:
            write_values(path, arrays)
            progress.say(saved_message(run.folder, step, arrays))
        return path
    finally:
        if run.lock:
            run.lock.release()


def reopened_run(name: str, step: int) -> TrainingRun:
    """A run, opened to repeat its steps up to `step` with recorded values."""
    folder = find_run(name)
    config = read_config(folder)
    if not 1 <= step <= config.train.steps:
        raise ConfigError(
            f"values: STEP: expected a step of {folder}, 1 to {config.train.steps}: got {step}."
        )
    config = replace(config, train=replace(config.train, record_hashes=True))
    return TrainingRun(folder, config, Lock(folder), nearest(folder, step))


def nearest(folder: Path, step: int) -> Checkpoint | None:
    """The newest valid checkpoint before a step; None without one."""
    for path in reversed(checkpoints(folder)):
        try:
            found = verified(path)
        except CheckpointError:
            continue
        if found.step < step:
            return found
    return None


def saved_message(folder: Path, step: int, arrays: StepArrays) -> str:
    """A message on the saved values, and whether they have the recorded hashes."""
    kept = f"{file_of(folder, step)}: {len(arrays)} values"
    recorded = read_hashes(folder)
    if step not in recorded.steps:
        return f"{kept}; the run has no hashes of this step to compare them with"
    before = {name.key: found for name, found in recorded.of(step).items()}
    others = [x for x, array in arrays.items() if before.get(x.key) != hash_of(array)]
    if others:
        return f"{kept}; {len(others)} are not those that the run recorded, {others[0]} the first"
    return f"{kept}, those that the run recorded"


def file_of(folder: Path, step: int) -> Path:
    """The file with the saved values of a step."""
    return folder / "values" / f"step-{step:08d}.npz"


def write_values(path: Path, arrays: StepArrays) -> None:
    """Write arrays and their names to a file."""
    names = np.frombuffer(msgspec.json.encode(list(arrays)), np.uint8)
    content = io.BytesIO()
    numbered = {f"{k}": array for k, array in enumerate(arrays.values())}
    np.savez(content, allow_pickle=False, **{NAMES: names}, **numbered)
    make_folder(path.parent)
    publish(path, content.getvalue())


def read_values(path: Path) -> StepArrays:
    """The arrays of a file, by name."""
    try:
        with plain(path) as file, np.load(file, allow_pickle=False) as found:
            names = msgspec.json.decode(found[NAMES].tobytes(), type=list[ValueName])
            return {name: found[f"{k}"] for k, name in enumerate(names)}
    except NOT_VALUES as wrong:
        raise ConfigError(f"diverge: {path} holds no values: {wrong}. Keep them anew.") from None


def values_of(folder: Path, step: int) -> StepArrays | None:
    """The saved values of a run's step; None if there are none."""
    path = file_of(folder, step)
    return read_values(path) if path.exists() else None
