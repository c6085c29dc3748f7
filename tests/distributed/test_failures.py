"""Ranks that fail in every way that users meet: the job ends soon, and says who, where and why."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.children import environment
from tests.conftest import Golden

SCRIPT = Path(__file__).with_name("failing.py")
SHORT, LONG = 4, 60
"""Seconds that a rank waits for the other: short where waiting is how the job ends, else long, so
that a busy machine on which one rank compiles slowly is not taken for a rank that is gone."""
ENDED_BY_WAITING = ("hangs", "blocked", "never")
WAYS = ("raises", "killed", "hangs", "blocked", "never", "shape", "program")


class End(NamedTuple):
    """How a job ended: what it said, its exit code, and how long after things went wrong."""

    told: str
    code: int
    seconds: float


def ended(folder: Path, how: str, backend: str = "mpi") -> End:
    """A job of two ranks of which one goes wrong."""
    folder.mkdir()
    shutil.copy(SCRIPT, folder / "failing.py")
    patience = SHORT if how in ENDED_BY_WAITING else LONG
    asked = ["--backend", backend, "--patience", str(patience)]
    words = ["launch", "-n", "2", *asked, "failing.py", how]
    # an installed MPI speaks to hosts by name; nothing of it is wanted here
    done = subprocess.run(
        [sys.executable, "-m", "gnomon", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=90,
        env=environment(),
    )
    began = float((folder / "wrong").read_text())
    return End(done.stderr, done.returncode, time.time() - began)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[End]]:
    """A job for each way; they wait more than they work, so several run at a time."""
    root = tmp_path_factory.mktemp("jobs")
    pool = ThreadPoolExecutor(3)
    return {how: pool.submit(ended, root / how, how) for how in WAYS}


def gist(told: str) -> str:
    """What we say, without the frames in between and without what mpiexec adds."""
    ours = "rank ", "  rank ", "gnomon", "Let all", "Look for", "ValueError"
    return "\n".join(line for line in told.splitlines() if line.startswith(ours))


@pytest.mark.parametrize("how", WAYS)
def test_a_rank_that_fails_ends_the_job_and_says_who_and_where(
    how: str, jobs: dict[str, Future[End]], golden: Golden
):
    end = jobs[how].result()

    assert end.code not in (0, 124)
    told, both = gist(end.told), how in ("shape", "program")
    # both find out at the same time
    told = re.sub(r"^(gnomon launch: )?rank \d", r"\1rank ?", told, flags=re.M) if both else told
    assert told == golden


@pytest.mark.parametrize("how", ["killed", "never", "program"])
def test_ranks_that_share_memory_end_so_too(how: str, tmp_path: Path, golden: Golden):
    end = ended(tmp_path / how, how, "node")
    told = [line for line in end.told.splitlines() if line.startswith("gnomon launch: ")]

    assert end.code not in (0, 124)
    # whether the other rank still says why it gave up is a matter of luck, except in the last line
    assert re.sub(r"rank \d of", "rank ? of", "\n".join(told)) == golden


@pytest.mark.long
@pytest.mark.parametrize("how", WAYS)
def test_it_ends_within_ten_seconds_on_a_quiet_machine(how: str, jobs: dict[str, Future[End]]):
    assert jobs[how].result().seconds < 10
