"""One trainer at a time has a run's folder, and it must stay where it is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from gnomon.errors import CheckpointError, ConfigError
from gnomon.train.lock import LOCK, Lock

pytestmark = pytest.mark.unit


def test_a_second_one_is_refused_until_the_first_is_released(tmp_path):
    first = Lock(tmp_path)

    with pytest.raises(
        ConfigError, match=rf"is in use by process {os.getpid()}\. Wait until it ends"
    ):
        Lock(tmp_path)
    first.release()

    Lock(tmp_path).release()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    program = (
        "import os, pathlib; from gnomon.train.lock import Lock\n"
        f"Lock(pathlib.Path({str(tmp_path)!r})); os.kill(os.getpid(), 9)"
    )

    killed = subprocess.run([sys.executable, "-c", program], check=False)

    assert killed.returncode == -9
    lock = Lock(tmp_path)
    assert (tmp_path / LOCK).read_text() == f"{os.getpid()}\n"
    lock.release()


def test_what_a_killed_process_left_aside_is_swept(tmp_path):
    aside = tmp_path / "checkpoints" / f".step-00000003.{'0a' * 16}"
    aside.mkdir(parents=True)
    (aside / "model.safetensors").touch()
    (tmp_path / f".run.json.{'0a' * 16}").touch()
    kept = [tmp_path / ".gitignore", tmp_path / "checkpoints" / "step-00000002"]
    kept[0].touch()
    kept[1].mkdir()

    lock = Lock(tmp_path)

    found = {x.name for folder in (tmp_path, aside.parent) for x in folder.iterdir()}
    assert found == {LOCK, "checkpoints", ".gitignore", "step-00000002"}
    lock.release()


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_folder_that_goes_is_noticed(tmp_path, how):
    run = tmp_path / "run"
    run.mkdir()
    lock = Lock(run)
    lock.check()

    if how == "deleted":
        shutil.rmtree(run)
    else:
        run.rename(tmp_path / "elsewhere")
    if how == "replaced":
        shutil.copytree(tmp_path / "elsewhere", run)

    with pytest.raises(CheckpointError, match="was deleted or moved while it was being trained in"):
        lock.check()
    lock.release()


def test_a_folder_without_rights_is_an_error_of_the_system_that_names_it(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        Lock(tmp_path / "nowhere")

    assert missing.value.filename == str(tmp_path / "nowhere" / LOCK)
