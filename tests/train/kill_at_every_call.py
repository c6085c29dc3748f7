"""A process that saves checkpoints, killed at each call that changes the disk; what is found then.

    python -m tests.train.kill_at_every_call --ranks 2 --every 9

Saves 1 and 2 are made in peace; a child saves 3, 4 and 5 and is killed (SIGKILL, in a write after
half of it). The newest checkpoint must then be whole, its tensors those of its step in the model
and in the optimizer, and no older than what the child knew to be saved. The next process sweeps,
saves step 6, and finds it.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from gnomon.distributed.checkpoint import files as tensor_files
from gnomon.runtime import files
from gnomon.runtime.disk import Disk
from gnomon.train import checkpoint_contents
from gnomon.train.checkpoint import fingerprint, newest
from gnomon.train.checkpoint_contents import CheckpointContents
from gnomon.train.checkpoint_writer import CheckpointWriter
from gnomon.train.lock import Lock
from tests.faulty_disks import KillingDisk, WatchedDisk
from tests.train.saving import arrays_at, contents, save, together

KEEP = 2
PEACE, WAR, AFTER = (1, 2), (3, 4, 5), 6
ARRAYS = {step: arrays_at(step, np.random.default_rng(step)) for step in (*PEACE, *WAR, AFTER)}
SUMS = {step: {k: fingerprint(x) for k, x in arrays.items()} for step, arrays in ARRAYS.items()}


def saves(run: Path, ranks: int, told: int) -> None:
    """Save every step of the child; the number of each that is done is written to a pipe."""

    def work(team) -> None:
        writer = CheckpointWriter(run, KEEP, team, print)
        for step in WAR:
            writer.begin(contents(step, ARRAYS[step], (team.rank, ranks)))
            writer.wait()
            if team.leads:
                os.write(told, bytes([step]))

    together(ranks, work)


def child(run: Path, ranks: int, call: int) -> tuple[int, int]:
    """Let a process save and be killed at a call: how it ended, and what it knew to be saved."""
    ends, begins = os.pipe()
    number = os.fork()
    if number == 0:
        files.disk = KillingDisk(call)
        try:
            saves(run, ranks, begins)
        finally:
            os._exit(0)
    os.close(begins)
    _, status = os.waitpid(number, 0)
    known = os.read(ends, 100)
    os.close(ends)
    return os.waitstatus_to_exitcode(status), max(known, default=PEACE[-1])


def judge(run: Path, known: int) -> None:
    """What must hold of the folder that a killed process left, and of the run that goes on."""
    found, problems = newest(run)
    assert problems == [], problems
    assert found is not None, "no checkpoint is left"
    assert known <= found.step <= known + 1, (known, found.step)
    parts = {"model": found.parameters(), "optimizer": found.optimizer()}
    assert {k: fingerprint(x) for k, x in parts.items()} == SUMS[found.step], "a mixture"
    Lock(run).release()
    left = [x.name for x in (run / "checkpoints").iterdir() if x.name.startswith(".")]
    assert left == [], left
    save(run, contents(AFTER, ARRAYS[AFTER]), KEEP)
    assert newest(run)[0].step == AFTER


def sweep(ranks: int, every: int, scratch: Path) -> tuple[int, int]:
    """Kill at each of the calls, or at every so manyth: their number, and that of the kills."""
    begun = scratch / "begun"
    begun.mkdir()
    for step in PEACE:
        save(begun, contents(step, ARRAYS[step]), KEEP)
    kills = 0
    for call in itertools.count(0, every):
        run = shutil.copytree(begun, scratch / str(call))
        code, known = child(run, ranks, call)
        assert code in (0, -signal.SIGKILL), code
        files.disk = Disk()
        judge(run, known)
        shutil.rmtree(run)
        kills += code != 0
        if code == 0:
            assert known == WAR[-1], known
            return calls(begun, ranks), kills
    raise AssertionError("count never ends")


def calls(begun: Path, ranks: int) -> int:
    """The calls of a child that nobody kills."""
    files.disk = WatchedDisk()
    with open(os.devnull, "wb") as nowhere:
        saves(begun, ranks, nowhere.fileno())
    return files.disk.calls


def named_early(describe: Callable, folder: Path, saved: CheckpointContents, sums: dict) -> None:
    """What a wrong writer does: name a folder while its last files are missing."""
    final = folder.with_name(f"step-{saved.step:08d}")
    folder.rename(final)
    describe(final, saved, sums)
    final.rename(folder)


def main() -> None:
    """Sweep, and say what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--named-early", action="store_true", help="a writer that must be caught")
    options = parser.parse_args()
    if options.named_early:
        checkpoint_contents.describe = partial(named_early, checkpoint_contents.describe)
    tensor_files.LARGEST_FILE = 60
    # a kill loses nothing of what the system has taken, so no disk is needed
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as scratch:
        count, kills = sweep(options.ranks, options.every, Path(scratch))
    print(f"{count} calls, {kills} kills, all found whole")


if __name__ == "__main__":
    main()
