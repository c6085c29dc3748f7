"""The values of a step are kept under their names, from the nearest checkpoint before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.errors import ConfigError
from gnomon.tensor.computed_values import ValueName
from gnomon.train.checkpoint import checkpoints
from gnomon.train.hashes import hash_of, read_hashes
from gnomon.train.progress import Progress
from gnomon.train.runs import write_config
from gnomon.train.team import Team
from gnomon.train.values import keep_values, nearest, read_values, values_of, write_values
from tests.train.test_loop import trainer


@pytest.fixture
def run(config, tmp_path):
    """A run of four steps with checkpoints after the second and the fourth."""
    config = replace(config, train=replace(config.train, record_hashes=True, evaluate_every=0))
    made = trainer(config, tmp_path / "run", steps=4)
    write_config(made.folder, made.config)
    made.run()
    return made


def keep(run, step: int) -> str:
    """Keep the values of a step; what was said last."""
    said = []
    progress = Progress()
    progress.say = said.append
    with Team() as team:
        keep_values(str(run.folder), step, progress, team)
    return said[-1]


@pytest.mark.parametrize(("step", "begins"), [(1, None), (3, 2)])
def test_steps_are_taken_again_to_the_bits_that_were_recorded(run, step, begins):
    before = sorted(run.folder.rglob("*.json*")), run.folder.joinpath("metrics.jsonl").read_bytes()
    found = nearest(run.folder, step)
    assert (found.step if found else None) == begins

    said = keep(run, step)

    assert said.endswith("those that the run recorded")
    kept = values_of(run.folder, step)
    hashes = {name: hash_of(array) for name, array in kept.items()}
    assert hashes == read_hashes(run.folder).of(step)
    after = sorted(run.folder.rglob("*.json*")), run.folder.joinpath("metrics.jsonl").read_bytes()
    assert after == before
    assert len(checkpoints(run.folder)) == 2


def test_a_step_without_hashes_is_kept_all_the_same(run):
    (run.folder / "hashes.jsonl").unlink()

    assert keep(run, 1).endswith("no hashes of this step to compare them with")


@pytest.mark.parametrize("step", [0, 5])
def test_a_step_that_the_run_has_not_is_refused(run, step):
    with pytest.raises(ConfigError, match=rf"expected a step of .*, 1 to 4: got {step}"):
        keep(run, step)


@pytest.mark.unit
def test_values_come_back_by_name(tmp_path):
    names = ValueName("forward", "a", "add", "x.py:1"), ValueName("result", "loss", "")
    arrays = {names[0]: np.arange(3.0), names[1]: np.array(2, np.float32)}

    write_values(tmp_path / "values" / "one.npz", arrays)

    found = read_values(tmp_path / "values" / "one.npz")
    assert list(found) == list(arrays)
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


@pytest.mark.unit
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"nothing"])
def test_a_file_of_something_else_is_named(tmp_path, content):
    path = tmp_path / "one.npz"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=r"one\.npz holds no values"):
        read_values(path)
