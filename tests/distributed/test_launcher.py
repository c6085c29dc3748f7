"""Command lines of a launch, and ranks that really run: by mpiexec, under a time limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.distributed.launcher import Launch, delimited
from gnomon.errors import ConfigError
from tests.children import environment
from tests.distributed.on_tcp import started
from tests.house import PACKAGE


def launched(*words: str, cwd: Path, seconds: float = 120.0) -> subprocess.CompletedProcess:
    """What `gnomon launch` did."""
    command = [sys.executable, "-m", "gnomon", "launch", *words]
    return subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=seconds
    )


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        (("train", "tiny"), ["-m", "gnomon", "train", "tiny"]),
        (("a.py", "-n", "3"), ["-m", "gnomon.distributed.rank_main", "a.py", "-n", "3"]),
        (("python", "-m", "a"), ["-m", "gnomon.distributed.rank_main", "-m", "a"]),
    ],
)
def test_what_a_rank_runs(command: tuple[str, ...], runs: list[str]):
    assert Launch(command, 2).of_rank() == [sys.executable, *runs]


def test_other_programs_run_as_they_are():
    assert Launch(("env", "-u", "X"), 2).of_rank() == ["env", "-u", "X"]


def test_options_of_the_command_are_not_launchs_own():
    words = ["launch", "--dry-run", "-n", "2", "python", "x.py", "-n", "3"]

    assert delimited(words) == [*words[:4], "--", *words[4:]]
    assert delimited(["train", "-n"]) == ["train", "-n"]


def test_options_of_a_script_are_not_runs_own():
    for words in (["--help"], ["-h", "--version"], ["--lr=3", "--", "x"], []):
        assert delimited(["run", "x.py", *words]) == ["run", "--", "x.py", *words]
    for words in (["run"], ["run", "--help"], ["run", "--", "x.py", "-h"]):
        assert delimited(words) == words


def test_no_ranks_are_refused():
    with pytest.raises(ConfigError, match="launch: -n: expected int >= 1: got 0"):
        Launch(("train",), 0).run()


def test_a_dry_run_starts_nothing(tmp_path: Path):
    done = launched("--dry-run", "-n", "2", "train", "--mesh", "data=2", cwd=tmp_path)

    assert done.returncode == 0
    assert "mpiexec -n 2" in done.stdout
    assert "gnomon train --mesh data=2" in done.stdout
    assert not list(tmp_path.iterdir())


def test_threads_run_python_alone():
    with pytest.raises(ConfigError, match="--backend threads runs Python here: got env -u X"):
        Launch(("env", "-u", "X"), 2, backend="threads").run()
    with pytest.raises(
        ConfigError, match="--backend: expected one of mpi, node, threads: got 'tcp'"
    ):
        Launch(("train",), 2, backend="tcp").run()


def test_a_wrong_recipe_is_told_once(tmp_path: Path):
    done = launched("-n", "2", "train", "nonsense", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr.count("nonsense is neither a recipe nor a .toml file") == 1
    assert not list(tmp_path.iterdir())


def test_mpi_must_connect_as_many_as_the_variables_say(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "gnomon", "train", "tiny"],
        env={**os.environ, "RANK": "0", "WORLD_SIZE": "2"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert done.returncode == 2
    assert "as torchrun says (RANK=0 WORLD_SIZE=2), and MPI connects 1. Set MASTER" in done.stderr


def hash_of(folder: Path) -> str:
    """The bits of a run: all parameters and the optimizer's state."""
    return json.loads((folder / "summary.json").read_text())["hash"]


# a corpus of sixty files: reading all of Python's takes most of a run's time
QUICK = [
    *("--set", f"corpus.folder={PACKAGE / 'ops'}", "--set", "corpus.held_out_percent=10"),
    *("--set", "train.steps=3"),
    *("--set", "train.evaluate_every=2", "--set", "sample.max_new_tokens=0"),
]


def test_two_ranks_train_to_the_hash_of_one_process(tmp_path: Path):
    alone = [sys.executable, "-m", "gnomon", "train", "tiny", *QUICK, "--set", "run.dir=one"]
    subprocess.run(
        alone, cwd=tmp_path, env=environment(), check=True, capture_output=True, timeout=120
    )

    done = launched("-n", "2", "train", "tiny", *QUICK, "--set", "run.dir=two", cwd=tmp_path)
    alone[-1] = f"run.dir={tmp_path / 'three'}"
    by_sockets = [(p.communicate(timeout=120), p.returncode) for p in started(alone, 2)]

    assert done.returncode == 0, done.stderr
    assert [code for _, code in by_sockets] == [0, 0], by_sockets
    for folder in ("two", "three"):
        assert hash_of(tmp_path / folder) == hash_of(tmp_path / "one")


def test_a_mesh_that_does_not_run_is_refused(tmp_path: Path):
    command = [sys.executable, "-m", "gnomon", "train", "tiny", "--mesh", "data=2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert "gnomon launch -n 2 train --mesh data=2" in done.stderr
