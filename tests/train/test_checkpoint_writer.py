"""A thread writes while training goes on; whatever happens, what was saved before is whole."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gnomon.errors import ConfigError
from gnomon.runtime import files
from gnomon.runtime.disk import Disk
from gnomon.train.checkpoint import checkpoints, fingerprint, newest
from gnomon.train.checkpoint_writer import CheckpointWriter
from gnomon.train.lock import Lock
from gnomon.train.team import Team
from tests.children import environment
from tests.faulty_disks import FullDisk, WatchedDisk
from tests.train.saving import arrays_at, contents, save, together

ROOT = Path(__file__).parent.parent.parent


class SlowDisk(WatchedDisk):
    """A disk that waits for a sign before its first write."""

    def __init__(self):
        super().__init__()
        self.reached, self.go_on = threading.Event(), threading.Event()

    def meet(self, name, where, content=None, at=0):
        if name == "write":
            self.reached.set()
            assert self.go_on.wait(60)
        super().meet(name, where, content, at)


@pytest.fixture
def slow(monkeypatch):
    """The disk, which waits."""
    disk = SlowDisk()
    monkeypatch.setattr(files, "disk", disk)
    yield disk
    disk.go_on.set()


def names(run):
    """The names of the checkpoints that are there."""
    return [path.name for path in checkpoints(run)]


def test_training_goes_on_while_a_copy_is_written(tmp_path, rng, slow):
    arrays = arrays_at(1, rng)
    wanted = fingerprint(arrays["model"])
    writer = CheckpointWriter(tmp_path, 2, Team(), print)

    writer.begin(contents(1, arrays))
    slow.reached.wait(60)
    assert not writer.finished
    writer.advance([writer.finished])
    arrays["model"]["w1"][:] = 7  # the next step
    slow.go_on.set()
    writer.wait()

    assert writer.failure is None
    assert fingerprint(newest(tmp_path)[0].parameters()) == wanted


def test_one_is_on_its_way_at_most(tmp_path, rng, slow):
    writer = CheckpointWriter(tmp_path, 2, Team(), print)
    writer.begin(contents(1, arrays_at(1, rng)))
    slow.reached.wait(60)
    threading.Timer(0.05, slow.go_on.set).start()

    writer.begin(contents(2, arrays_at(2, rng)))

    assert names(tmp_path) == ["step-00000001"]
    writer.wait()
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


def test_the_newest_stays_until_a_newer_one_has_its_name(tmp_path, rng, slow):
    slow.go_on.set()
    save(tmp_path, contents(1, arrays_at(1, rng)), 1)
    slow.go_on.clear()
    slow.reached.clear()
    writer = CheckpointWriter(tmp_path, 1, Team(), print)
    writer.begin(contents(2, arrays_at(2, rng)))
    slow.reached.wait(60)

    assert names(tmp_path) == ["step-00000001"]
    slow.go_on.set()
    writer.wait()
    assert names(tmp_path) == ["step-00000002"]


def test_a_run_that_ends_badly_does_not_wait_for_what_is_not_written(tmp_path, rng, slow):
    writer = CheckpointWriter(tmp_path, 2, Team(), print)
    writer.begin(contents(1, arrays_at(1, rng)))
    slow.reached.wait(60)
    threading.Timer(0.05, slow.go_on.set).start()

    writer.close()

    assert names(tmp_path) == []
    assert slow.calls < 8


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_write_together(tmp_path, rng, ranks):
    arrays = {step: arrays_at(step, rng) for step in (1, 2, 3)}

    def work(team):
        writer = CheckpointWriter(tmp_path, 2, team, print)
        for step in (1, 2, 3):
            writer.begin(contents(step, arrays[step], (team.rank, ranks)))
            writer.advance([x for (x,) in team.gather([writer.finished])])
        writer.wait()
        return writer.failure

    assert together(ranks, work) == [None] * ranks
    found, problems = newest(tmp_path)
    assert (found.step, problems) == (3, [])
    assert fingerprint(found.parameters()) == fingerprint(arrays[3]["model"])
    assert names(tmp_path) == ["step-00000002", "step-00000003"]


def test_a_rank_that_finds_no_memory_on_its_disk_fails_the_save_of_all(tmp_path, rng, monkeypatch):
    arrays, said = arrays_at(2, rng), []
    save(tmp_path, contents(1, arrays_at(1, rng)), 2)
    monkeypatch.setattr(files, "disk", FullDisk(8))

    def work(team):
        writer = CheckpointWriter(tmp_path, 2, team, said.append)
        writer.begin(contents(2, arrays, (team.rank, 3)))
        writer.wait()
        first = writer.failure
        writer.begin(contents(3, arrays, (team.rank, 3)))
        writer.wait()
        return str(first), writer.failure

    (told, *others) = together(3, work)
    assert told[1] is None
    assert "No space left on device" in told[0]
    assert others == [told, told]
    assert len(said) == 1
    assert re.fullmatch(
        r"step 2 was not saved: .*: No space left on device\. Training goes on; "
        r"step-00000001 is kept\.",
        said[0],
    )
    assert names(tmp_path) == ["step-00000001", "step-00000003"]


def test_ranks_that_see_other_folders_are_refused(tmp_path):
    def work(team):
        folder = tmp_path / str(team.rank)
        folder.mkdir()
        with pytest.raises(ConfigError, match=r"rank 1 does not see .*: ranks write checkpoints"):
            CheckpointWriter(folder, 2, team, print)
        return list(folder.iterdir())

    assert together(2, work) == [[], []]


def test_a_mistake_of_ours_is_not_taken_for_a_full_disk(tmp_path, rng):
    saved = contents(1, arrays_at(1, rng), trainer={"data_hash": object()})
    writer = CheckpointWriter(tmp_path, 2, Team(), print)
    writer.begin(saved)

    with pytest.raises(TypeError, match="object"):
        writer.wait()


EVERY = [7, pytest.param(1, marks=pytest.mark.long)]


@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("lasting", [1, 1000])
def test_a_full_disk_at_a_call_is_told_and_the_last_good_one_kept(
    tmp_path, rng, monkeypatch, lasting, every
):
    arrays = {step: arrays_at(step, rng) for step in (1, 2, 3)}
    monkeypatch.setattr(files, "disk", WatchedDisk())
    (tmp_path / "begun").mkdir()
    save(tmp_path / "begun", contents(1, arrays[1]), 2)
    calls = files.disk.calls
    for call in range(0, calls, every):
        run, said = tmp_path / str(call), []
        shutil.copytree(tmp_path / "begun", run)
        files.disk = FullDisk(call, lasting)
        writer = CheckpointWriter(run, 2, Team(), said.append)
        writer.begin(contents(2, arrays[2]))
        writer.wait()
        assert len(said) == (writer.failure is not None)
        found, problems = newest(run)
        assert problems == []
        assert found.step == 2 or writer.failure
        # the last two make folders that are there, and flush a name that was given
        assert writer.failure or call >= calls - 2
        assert fingerprint(found.parameters()) == fingerprint(arrays[found.step]["model"])
        files.disk = Disk()
        writer.begin(contents(3, arrays[3]))
        writer.wait()
        assert writer.failure is None
        assert newest(run)[0].step == 3
        Lock(run).release()
        assert not [x for x in (run / "checkpoints").iterdir() if x.name.startswith(".")]


def killed(*words):
    """What the sweep of kills says."""
    command = [sys.executable, "-m", "tests.train.kill_at_every_call", *words]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), text=True, check=True, capture_output=True
    )
    return done.stdout


def test_killed_at_a_sample_of_calls_the_newest_complete_one_is_found():
    said = killed("--ranks", "2", "--every", "9")

    found = re.fullmatch(r"(\d+) calls, (\d+) kills, all found whole\n", said)
    assert found, said
    assert int(found[1]) >= 200
    assert int(found[2]) >= int(found[1]) // 9


def test_a_writer_that_names_a_folder_early_is_caught():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        killed("--every", "7", "--named-early")

    assert "trainer.json cannot be read: No such file" in caught.value.stderr


@pytest.mark.long
@pytest.mark.parametrize("ranks", ["1", "2", "3"])
def test_killed_at_every_call_the_newest_complete_one_is_found(ranks):
    said = killed("--ranks", ranks)

    found = re.fullmatch(r"(\d+) calls, (\d+) kills, all found whole\n", said)
    assert found, said
    assert int(found[1]) >= 200
    assert int(found[2]) >= int(found[1]) - 10
