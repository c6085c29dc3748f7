"""A script as a rank: its arguments, its exit code, and what it raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
print(__name__, sys.argv)
if "raise" in sys.argv:
    raise ValueError("no paper")
if "leave" in sys.argv:
    sys.exit(3)
"""


def ran(tmp_path: Path, *words: str, **variables: str) -> subprocess.CompletedProcess:
    """A script that was run as a rank."""
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "gnomon.distributed.rank_main", *words]
    return subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | variables,
    )


@pytest.mark.parametrize("words", [("script.py", "-n", "3"), ("-m", "script", "-n", "3")])
def test_a_script_finds_its_arguments(tmp_path: Path, words: tuple[str, ...]):
    done = ran(tmp_path, *words)

    assert done.returncode == 0
    assert done.stdout.startswith("__main__ [")
    assert "script" in done.stdout
    assert "'-n', '3'" in done.stdout


def test_what_it_raises_is_told_with_its_rank(tmp_path: Path):
    done = ran(tmp_path, "script.py", "raise", RANK="1", WORLD_SIZE="2")

    assert done.returncode == 1
    assert done.stderr.startswith("rank 1: Traceback")
    assert done.stderr.rstrip().endswith("ValueError: no paper")


def test_its_exit_code_is_its_own(tmp_path: Path):
    assert ran(tmp_path, "script.py", "leave").returncode == 3
