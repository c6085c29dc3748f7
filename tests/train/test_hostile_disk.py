"""`gnomon train` on a disk that fills up, refuses, goes away or is somebody else's: one sentence.

Each test is a process of its own with a small model; what was saved before stays whole.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gnomon.__main__ import code_of
from gnomon.train.checkpoint import newest
from tests.children import environment

SMALL = [
    *("model.vocab_size=300", "model.hidden_size=32", "model.intermediate_size=32"),
    *("model.num_hidden_layers=1", "train.steps=6", "train.evaluate_every=0"),
    *("train.sequence_length=32", "train.checkpoint_every=1", "evaluation.stride=32"),
    *("sample.max_new_tokens=4", "corpus.folder=corpus", "corpus.held_out_percent=10"),
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    for number in range(60):
        lines = [f"def f{n}(x):\n    return x + {n * number % 7}\n\n\n" for n in range(6)]
        (tmp_path / "corpus" / f"file{number}.py").write_text("".join(lines))


def words(*changes: str) -> list[str]:
    """What trains a small model, with changes."""
    return ["train", "tiny", *settings(*SMALL, *changes)]


def settings(*changes: str) -> list[str]:
    """Changes as the command line has them."""
    return [word for change in changes for word in ("--set", change)]


def shell(script: str, *given: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `gnomon` with the words given, as "$@" of a script."""
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "gnomon", *given]
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """What was said of a failure: nothing but our own words."""
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    (said,) = (line for line in done.stderr.splitlines() if line.startswith("gnomon: "))
    return said


def can_mount() -> bool:
    """Whether a child may have mounts of its own."""
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


mounts = pytest.mark.skipif(not can_mount(), reason="needs the right to mount")


@mounts
def test_a_full_disk_keeps_the_last_checkpoint_whole_and_fails_the_run_at_its_end(tmp_path):
    script = (
        "mkdir run && exec unshare -m sh -c 'mount -t tmpfs -o size=700k none run && "
        '"$@"; code=$?; cp -r run kept; exit $code\' sh "$@"'
    )

    done = shell(script, *words("run.dir=run"))

    assert done.returncode == 1, done.stderr
    said = complaint(done)
    assert "No space left on device. Checkpoints that were saved are whole." in said
    assert said.startswith("gnomon: train: run/checkpoints/.step-")
    assert "gnomon train --resume --set run.dir=run" in done.stderr
    assert "Training goes on; step-0000000" in done.stdout
    assert len((tmp_path / "kept" / "metrics.jsonl").read_text().splitlines()) == 6
    found, problems = newest(tmp_path / "kept")
    assert found is not None
    assert 1 <= found.step < 6
    assert problems == []
    names = {x.name for x in (tmp_path / "kept" / "checkpoints").iterdir()}
    assert not [x for x in names if x.startswith(".")]

    assert code_of(["train", "--resume", *settings("run.dir=kept")]) == 0
    assert code_of(words("run.dir=whole")) == 0
    hashes = {json.loads(Path(x, "summary.json").read_text())["hash"] for x in ("kept", "whole")}
    assert len(hashes) == 1


def test_a_limit_of_file_size_is_told_at_each_save_and_fails_the_run_at_its_end(tmp_path):
    script = 'ulimit -f 16; exec "$@"'

    done = shell(script, *words("run.dir=run"), GNOMON_CACHE_DIR=str(tmp_path / "cache"))

    assert done.returncode == 1
    assert "safetensors: File too large. Checkpoints" in complaint(done)
    assert done.stderr.count("cache: ") == 1
    assert "cannot be written to: File too large. Compiled code is not kept" in done.stderr
    assert list((tmp_path / "run" / "checkpoints").iterdir()) == []
    for step in range(1, 7):
        assert f"step {step} was not saved: run/checkpoints/.step-0000000{step}" in done.stdout
    assert "File too large. Training goes on; there is none before it." in done.stdout
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 6


@mounts
def test_a_folder_that_is_read_only_is_named(tmp_path):
    assert code_of(words("run.dir=run", "train.steps=1")) == 0
    script = (
        "exec unshare -m sh -c 'mount --bind run run && mount -o remount,ro,bind run && exec "
        '"$@"\' sh "$@"'
    )

    going_on = shell(script, "train", "--resume", *settings("run.dir=run"))
    begun = shell(script, *words("run.dir=run/other"))
    profiled = shell(script, "profile", "tiny", "--steps", "1", "--out", "run/p", *settings(*SMALL))
    written = shell(script, "generate", "run", "--max-new-tokens", "2")

    assert [x.returncode for x in (going_on, begun, profiled, written)] == [1, 1, 1, 0]
    assert complaint(going_on) == "gnomon: run/lock: Read-only file system."
    assert complaint(begun) == "gnomon: run/other: Read-only file system."
    assert complaint(profiled) == "gnomon: run/p: Read-only file system."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["doctor", "generate"])
def test_output_that_cannot_be_written_is_an_exit_code(command):
    if command == "generate":
        assert code_of(words("run.dir=run", "train.steps=1")) == 0
    given = [command, "run", "--max-new-tokens", "2"] if command == "generate" else [command]

    done = shell('exec "$@" > /dev/full', *given)

    assert done.returncode == 1
    assert "No space left on device." in complaint(done)


@pytest.fixture
def training(tmp_path):
    """A child that trains and has saved something."""
    command = [sys.executable, "-m", "gnomon", *words("run.dir=run", "train.steps=1000000")]
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and not list(tmp_path.glob("run/checkpoints/step-*")):
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()
    process.stderr.close()


def test_a_folder_that_is_deleted_ends_its_run(training, tmp_path):
    # the trainer may be writing into it at that moment
    while (tmp_path / "run").exists():
        shutil.rmtree(tmp_path / "run", ignore_errors=True)

    _, said = training.communicate(timeout=60)

    assert training.returncode == 1
    assert "gnomon: train: run was deleted or moved while it was being trained in" in said
    assert "Traceback" not in said
    assert not (tmp_path / "run").exists()


def test_a_second_trainer_is_refused_and_takes_over_when_the_first_is_dead(training, capsys):
    before = Path("run/run.json").read_bytes()

    refused = code_of(["train", "--resume", *settings("run.dir=run", "train.steps=3")])

    assert refused == 2
    assert f"gnomon: train: run is in use by process {training.pid}." in capsys.readouterr().err
    assert Path("run/run.json").read_bytes() == before
    training.send_signal(signal.SIGKILL)
    training.wait()
    found, problems = newest(Path("run"))
    assert problems == []
    steps = found.step + 1
    assert code_of(["train", "--resume", *settings("run.dir=run", f"train.steps={steps}")]) == 0
    assert not [x for x in Path("run/checkpoints").iterdir() if x.name.startswith(".")]
    assert f"going on after step {found.step}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["run.json", "metrics.jsonl", "trainer.json"])
def test_a_damaged_file_does_not_stop_a_run_from_going_on(name, capsys):
    assert code_of(words("run.dir=run", "train.steps=2")) == 0
    assert code_of(words("run.dir=whole", "train.steps=4")) == 0
    where = {"trainer.json": "checkpoints/step-00000002"}.get(name, ".")
    path = Path("run", where, name)
    content = bytearray(path.read_bytes())
    content[len(content) // 3] = 0xFF
    path.write_bytes(content)
    capsys.readouterr()

    assert code_of(["train", "--resume", *settings("run.dir=run", "train.steps=4")]) == 0

    assert f"{name}" in capsys.readouterr().out
    hashes = {json.loads(Path(x, "summary.json").read_text())["hash"] for x in ("run", "whole")}
    assert len(hashes) == 1
    assert newest(Path("run"))[0].step == 4


def test_what_changes_the_run_is_refused_or_written_down(capsys):
    assert code_of(words("run.dir=run", "train.steps=2")) == 0
    before = Path("run/run.json").read_bytes()
    again = ["train", "--resume", *settings("run.dir=run")]

    for change in ("train.batch_size=3", "train.steps=1", "run.seed=1"):
        assert code_of([*again, *settings(change)]) == 2
        assert "Start a new run." in capsys.readouterr().err
    assert Path("run/run.json").read_bytes() == before
    assert code_of([*again, *settings("optimizer.learning_rate=0.5", "train.steps=3")]) == 0

    said = capsys.readouterr().out
    assert "optimizer.learning_rate: 0.5 (was 0.0015)" in said
    assert "train.steps: 3 (was 2)" in said
    assert "a branch of the run begins after step 2" in said
    branch = {"after_step": 2, "changed": {"optimizer.learning_rate": [0.0015, 0.5]}}
    assert json.loads(Path("run/summary.json").read_text())["branches"] == [branch]
    assert newest(Path("run"))[0].trainer["branches"] == [branch]
