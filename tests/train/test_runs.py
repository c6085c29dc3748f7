"""Runs are found again, never overwritten, and go on with what they recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gnomon.errors import CheckpointError, ConfigError
from gnomon.train.recipes import configure
from gnomon.train.runs import begin, find_checkpoint, find_run, new_run, read_config, write_config

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_two_runs_of_one_moment_have_two_folders():
    first, second = new_run("small", None), new_run("small", None)

    assert first != second
    assert first.parent.name == "runs"
    assert first.name.startswith("small-20")


def test_a_folder_that_holds_something_is_not_taken(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()

    with pytest.raises(ConfigError, match=r"full is not empty\. Continue .* with --resume"):
        new_run("small", "full")
    assert new_run("small", "empty").is_dir()


def test_the_default_is_the_python_recipe():
    run = begin(None, ["run.dir=here"], resume=False)

    assert run.config.run.name == "python"
    assert read_config(run.folder) == run.config


def test_going_on_takes_what_was_recorded_and_the_changes():
    begin("tiny", ["run.dir=here", "run.seed=9"], resume=False)

    run = begin(None, ["run.dir=here", "train.steps=3"], resume=True)

    assert (run.config.run.seed, run.config.train.steps) == (9, 3)
    assert run.checkpoint is None
    assert "nothing was saved" in run.remarks[-1]


def test_going_on_finds_the_latest_run_of_the_recipe():
    for place, recipe in enumerate(["tiny", "tiny", "python"]):
        folder = begin(recipe, [], resume=False).folder
        os.utime(folder / "run.json", (place, place))

    tiny = begin("tiny", [], resume=True).folder
    latest = begin(None, [], resume=True).folder

    assert tiny.name.startswith("tiny")
    assert latest.exists()


def test_going_on_where_nothing_is_begins():
    Path("here").mkdir()
    assert begin("tiny", ["run.dir=here"], resume=True).checkpoint is None
    with pytest.raises(
        ConfigError, match=r"no run in runs/python\*\. Start one: gnomon train python"
    ):
        begin("python", [], resume=True)


def test_another_model_cannot_go_on():
    begin("tiny", ["run.dir=here"], resume=False)

    with pytest.raises(
        ConfigError, match=r"model\.hidden_size must stay 64: got 32\. Start a new run"
    ):
        begin(None, ["run.dir=here", "model.hidden_size=32"], resume=True)


def test_runs_are_found_by_name_and_by_folder():
    folder = new_run("small", None)
    write_config(folder, configure("tiny", []))

    assert find_run(folder.name) == find_run(str(folder)) == find_run(None) == folder
    with pytest.raises(ConfigError, match=rf"other is not a run\. Known: {folder.name}"):
        find_run("other")


def test_a_run_without_checkpoints_cannot_be_loaded():
    write_config(new_run("small", "here"), configure("tiny", []))

    with pytest.raises(CheckpointError, match="here has no whole checkpoint"):
        find_checkpoint("here")


def test_a_run_goes_on_in_no_folder_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin("tiny", ["run.dir=first"], False)

    with pytest.raises(ConfigError, match=r"run\.dir: fist is not there.*[Dd]id you mean .?first"):
        begin(None, ["run.dir=fist"], True)
    assert not (tmp_path / "fist").exists()
    (tmp_path / "empty").mkdir()
    assert begin("tiny", ["run.dir=empty"], True).folder == Path("empty")
