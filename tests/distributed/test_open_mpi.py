"""The same ranks by Open MPI: in a Python of its own, since two MPIs do not share an environment.

OPEN_MPI_PYTHON names a Python that has this package, mpi4py, and openmpi in mpich's place.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.distributed.test_failures import SCRIPT, gist
from tests.distributed.test_rank_threads import SCRIPT as RING

PYTHON = os.environ.get("OPEN_MPI_PYTHON", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="needs Open MPI: OPEN_MPI_PYTHON names a Python")


def launched(folder: Path, *words: str) -> subprocess.CompletedProcess:
    """What `gnomon launch` did there."""
    own = {**os.environ, "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ['PATH']}"}
    own.pop("PYTHONPATH", None)
    return subprocess.run(
        [PYTHON, "-m", "gnomon", "launch", "-n", "2", *words],
        cwd=folder,
        env=own,
        capture_output=True,
        text=True,
        timeout=90,
    )


def test_ranks_meet(tmp_path: Path):
    (tmp_path / "ring.py").write_text(RING)

    done = launched(tmp_path, "ring.py")

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0 30.0 []", "1 30.0 []"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("raises", "gnomon launch: rank 1 of 2 failed: ValueError: rank one is ill"),
        ("killed", "gnomon launch: rank 1 of 2 is gone without a word: killed, or out of memory"),
        ("shape", "ranks 0 and 1 run different programs along mesh axis 'data', from transfer 1"),
    ],
)
def test_a_rank_that_fails_is_told_last(how: str, said: str, tmp_path: Path):
    (tmp_path / "failing.py").write_text(SCRIPT.read_text(encoding="utf-8"))

    done = launched(tmp_path, "--patience", "4", "failing.py", how)

    assert done.returncode != 0
    assert said in gist(done.stderr).splitlines()[-1]
