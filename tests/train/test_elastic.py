"""A rank is killed at some step: the job says so, forms anew, and ends in the same bits."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

from tests.children import ROOT, environment
from tests.train.test_hostile_disk import SMALL, settings

STEPS = 60
MARK = "GNOMON_TEST_OF_RESTARTS"
RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")


SOON = 10.0
"""Seconds within which a job begins anew when a rank has died, on a machine that is quiet."""


class Job:
    """A launched job whose ranks can be found, and whose words are kept as they come."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.mark, self.folder, self.said = uuid.uuid4().hex, folder, []
        command = [sys.executable, "-m", "gnomon", *words]
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(**{MARK: self.mark}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.listener = threading.Thread(target=self.listen, daemon=True)
        self.listener.start()

    def listen(self) -> None:
        """Keep every line, and when it came."""
        with self.process.stderr:
            for line in self.process.stderr:
                self.said.append((time.monotonic(), line.rstrip()))

    def ranks(self) -> dict[int, int]:
        """The processes of this job's ranks."""
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                given = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            told = dict(x.partition("=")[::2] for x in given)
            rank = next((told[name] for name in RANK if name in told), None)
            if told.get(MARK) == self.mark and rank is not None:
                found[int(rank)] = int(entry.name)
        return found

    def steps(self) -> int:
        """The steps that are written down."""
        path = self.folder / "run" / "metrics.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def kill(self, rank: int, after: int) -> float:
        """Kill a rank when so many steps are done; when that was."""
        while self.steps() < after and self.process.poll() is None:
            time.sleep(0.005)
        os.kill(self.ranks()[rank], signal.SIGKILL)
        return time.monotonic()

    def hears(self, text: str, seconds: float = 240.0) -> float:
        """Wait for a line that holds a text; when it came."""
        end = time.monotonic() + seconds
        while not (came := [at for at, line in self.said if text in line]):
            assert time.monotonic() < end, f"{text!r} was not said: {self.said}"
            time.sleep(0.05)
        return came[0]

    def end(self) -> int:
        """The exit code."""
        code = self.process.wait(300)
        self.listener.join()
        return code


@pytest.fixture
def job(tmp_path):
    """What starts a job, which is gone at the end."""
    (tmp_path / "corpus").mkdir()
    for number in range(60):
        lines = [f"def f{n}(x):\n    return x + {n * number % 7}\n\n\n" for n in range(6)]
        (tmp_path / "corpus" / f"file{number}.py").write_text("".join(lines))
    started = []

    def start(*words: str) -> Job:
        started.append(Job(tmp_path, *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        for number in one.ranks().values():
            os.kill(number, signal.SIGKILL)
        one.process.wait()
        one.listener.join()


def state_of(folder: Path) -> dict[str, object]:
    """The hash of a finished run, and what its metrics say of learning."""
    rows = [json.loads(x) for x in (folder / "metrics.jsonl").read_text().splitlines()]
    curve = [(row["step"], row["loss"], row["gradient_norm"]) for row in rows]
    return {"hash": json.loads((folder / "summary.json").read_text())["hash"], "curve": curve}


def elastic(job, folder: Path, counts: list[int], seed: int) -> list[float]:
    """Kill a rank of each job but the last; compare the run with one that nothing happened to.

    Gives the seconds from each death to the next job's start.
    """
    chosen, waits = random.Random(seed), []
    changes = [
        *SMALL,
        "train.batch_size=12",
        "evaluation.batch_size=12",
        "train.checkpoint_every=3",
    ]
    words = ["train", "tiny", *settings(*changes, f"train.steps={STEPS}")]
    assert job(*words, *settings("run.dir=alone")).end() == 0

    ranks = ",".join(map(str, counts))
    restarts = len(counts) - 1
    launch = ["launch", "-n", ranks, "--restarts", str(restarts), "--patience", "30"]
    running = job(*launch, *words, *settings("run.dir=run"))
    for number, count in enumerate(counts[:-1]):
        rank = chosen.randrange(count)
        wait_for(running, count)
        began = running.steps() if number else 0
        killed = running.kill(rank, began + chosen.randrange(1, 12))
        running.hears(f"gnomon launch: rank {rank} of {count} is gone without a word: killed")
        waits.append(running.hears(f"restart {number + 1} of {restarts}: ") - killed)
    assert running.end() == 0, running.said

    assert state_of(folder / "run") == state_of(folder / "alone")
    return waits


def wait_for(running: Job, count: int) -> None:
    """Wait until so many ranks of a job are there."""
    while len(running.ranks()) != count and running.process.poll() is None:
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_killed_rank_is_named_and_the_run_goes_on_alone(job, tmp_path):
    elastic(job, tmp_path, [2, 1], 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("counts", [[4, 4, 3, 2], [4, 3, 2, 1]])
def test_four_ranks_become_fewer_within_ten_seconds_and_the_curve_stays(
    job, tmp_path, counts, seed
):
    assert max(elastic(job, tmp_path, counts, seed)) < SOON


def test_a_rank_with_a_fault_is_left_out_and_the_curve_stays(job, tmp_path):
    """Bits of rank 1's memory turn: it is named, and the other ends in the bits of one process."""
    changes = [*SMALL, "train.batch_size=12", "evaluation.batch_size=12", "train.steps=9"]
    words = ["tiny", *settings(*changes, "train.checkpoint_every=5")]
    assert job("train", *words, *settings("run.dir=alone")).end() == 0

    (tmp_path / "run").mkdir()
    launch = ["launch", "-n", "2", "--restarts", "1", "--patience", "120", "--backend", "node"]
    script = str(ROOT / "tests" / "train" / "at_fault.py")
    running = job(*launch, "--", script, *words, "--resume", *settings("run.dir=run"))

    assert running.end() == 0, running.said
    said = "\n".join(line for _, line in running.said)
    assert "rank 1 on" in said
    assert "Steps 1 to 5, taken again, agree on all ranks: the fault has passed" in said
    assert "restart 1 of 1: -n 1, without rank 1 on" in said
    assert state_of(tmp_path / "run") == state_of(tmp_path / "alone")
