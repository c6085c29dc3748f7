"""Ranks that we start ourselves: their places, their exit codes, and who is ended with whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.distributed.launcher import Launch
from gnomon.distributed.processes import of_ranks, run_processes
from gnomon.errors import ConfigError
from tests.children import environment
from tests.distributed.test_rank_threads import SCRIPT


def codes(script: str, ranks: int) -> int:
    """The exit code of ranks that run a few words of Python without us."""
    return run_processes([sys.executable, "-c", script], ranks, "node", dict(os.environ))


def test_each_rank_is_told_its_place():
    first, second = of_ranks(2, "node")

    assert (first["RANK"], second["RANK"], second["WORLD_SIZE"]) == ("0", "1", "2")
    assert first["MASTER_PORT"] == second["MASTER_PORT"]
    assert first["GNOMON_BACKEND"] == "node"


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("pass", 0),
        ("import os, sys; sys.exit(3 * int(os.environ['RANK']))", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
    ],
)
def test_the_first_bad_code_is_the_jobs(script: str, code: int):
    assert codes(script, 2) == code


def test_who_waits_for_one_that_failed_is_ended(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gnomon.distributed.processes.GRACE", 0.1)

    assert codes("import os, time; os.environ['RANK'] == '0' and time.sleep(999); exit(4)", 2) == 4


def test_one_machine_has_no_file_of_hosts():
    with pytest.raises(ConfigError, match="--backend node is one machine"):
        Launch(("train",), 2, Path("hosts"), backend="node").run()


def test_ranks_meet_in_shared_memory_and_end_together(tmp_path: Path):
    (tmp_path / "script.py").write_text(SCRIPT)
    launch = [sys.executable, "-m", "gnomon", "launch", "-n", "2", "--backend", "node"]

    done = subprocess.run(
        [*launch, "script.py", "raise"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert sorted(done.stdout.split("\n")) == ["", "0 30.0 ['raise']", "1 30.0 ['raise']"]
    assert done.returncode == 1
    assert "gnomon launch: rank 1 of 2 failed: ValueError: no paper" in done.stderr
