"""A run reaches its end, and one that was stopped goes on to the same bits."""

from __future__ import annotations

import dataclasses
import signal

import pytest

from gnomon.errors import CheckpointError, GnomonError
from gnomon.train import loop
from gnomon.train.checkpoint import checkpoints, newest
from gnomon.train.loop import Trainer
from gnomon.train.metrics import read_metrics
from gnomon.train.progress import Progress


def trainer(config, folder, resumed=None, steps=6):
    """A prepared run."""
    folder.mkdir(exist_ok=True)
    train = dataclasses.replace(config.train, steps=steps)
    config = dataclasses.replace(config, train=train)
    made = Trainer(config, folder, Progress(), resumed)
    made.prepare()
    return made


def test_a_run_writes_every_step_looks_at_held_out_text_and_saves(config, tmp_path):
    run = trainer(config, tmp_path / "run")

    stop = run.run()

    rows = read_metrics(tmp_path / "run")
    assert stop.asked is None
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["step"] for row in rows if "held_out_loss" in row] == [3]
    assert [path.name for path in checkpoints(tmp_path / "run")] == [
        "step-00000004",
        "step-00000006",
    ]
    assert rows[-1]["tokens"] == 6 * 2 * 16
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert run.tokens_per_s > 0


@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_resumed_run_ends_in_the_same_bits(config, tmp_path, cut):
    whole = trainer(config, tmp_path / "whole")
    whole.run()
    trainer(config, tmp_path / "parts", steps=cut).run()

    found, _ = newest(tmp_path / "parts")
    rest = trainer(config, tmp_path / "parts", resumed=found)
    rest.run()

    assert found.step == cut
    assert rest.fingerprint() == whole.fingerprint()
    losses = [[row["loss"] for row in read_metrics(tmp_path / name)] for name in ("whole", "parts")]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_after_the_step_and_ends(config, tmp_path, monkeypatch, name):
    run = trainer(config, tmp_path / "run")
    take = run.take

    def interrupted(step, metrics):
        take(step, metrics)
        if step == 2:
            signal.raise_signal(name)

    monkeypatch.setattr(run, "take", interrupted)
    stop = run.run()

    assert stop.asked == name
    assert run.done == 3
    assert checkpoints(tmp_path / "run")[-1].name == "step-00000003"


def test_other_text_than_the_run_began_with_is_refused(config, tmp_path):
    trainer(config, tmp_path / "run", steps=2).run()
    found, _ = newest(tmp_path / "run")
    (tmp_path / "corpus" / "file0.py").write_text("x = 1\n" * 40)

    with pytest.raises(CheckpointError, match="holds other files than this run began with"):
        trainer(config, tmp_path / "run", resumed=found)


def test_a_loss_that_is_not_finite_ends_the_run_before_it_is_saved(config, tmp_path, monkeypatch):
    run, step = trainer(config, tmp_path / "run"), loop.TrainStep.__call__

    def third_time_unlucky(self, window, rate):
        return (float("nan"), 1.0) if run.done == 3 else step(self, window, rate)

    monkeypatch.setattr(loop.TrainStep, "__call__", third_time_unlucky)

    with pytest.raises(GnomonError, match="step 4 gave loss nan"):
        run.run()

    assert checkpoints(tmp_path / "run")[-1].name == "step-00000002"
