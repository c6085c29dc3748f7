"""A gradient that is computed twice has the same bits, or its parameter and step are named."""

from __future__ import annotations

import dataclasses
import os

import pytest

from gnomon.errors import GnomonError
from gnomon.runtime import threads
from gnomon.train import gradient_check
from gnomon.train.checkpoint import checkpoints, verified
from gnomon.train.gradient_check import GradientCheck, sentence
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress
from tests.train.planted import flip, said, train


def checked(config, every=2, **changes):
    """A run whose gradients are compared."""
    return dataclasses.replace(
        config, train=dataclasses.replace(config.train, verify_every=every, **changes)
    )


def alone(config, folder) -> Trainer:
    """A run of one process, begun."""
    folder.mkdir()
    run = Trainer(config, folder, Progress(quiet=True))
    run.prepare()
    return run


def sums(folder):
    """The sums of the tensors of a run's last checkpoint."""
    return verified(checkpoints(folder)[-1]).trainer["sums"]


@pytest.mark.parametrize(("mesh", "microbatches"), [("shard=2", 2), ("tensor=2", 1), ("data=3", 1)])
def test_nothing_is_found_and_no_bit_changes_where_nothing_is_wrong(
    config, tmp_path, mesh, microbatches
):
    config = checked(
        config, 0, batch_size=12, steps=3, microbatches=microbatches, checkpoint_every=0
    )
    evaluation = dataclasses.replace(config.evaluation, batch_size=12)
    config = dataclasses.replace(config, evaluation=evaluation)

    assert not said(train(config, tmp_path / "plain", mesh))
    assert not said(train(checked(config, 1), tmp_path / "checked", mesh))

    assert sums(tmp_path / "checked") == sums(tmp_path / "plain")


@pytest.mark.parametrize("rows", [1, 3, 6])
def test_rows_change_places_without_a_trace(config, tmp_path, rows):
    run = alone(checked(config, 1, batch_size=rows, steps=2), tmp_path / "run")

    run.run()

    assert run.done == 2
    assert run.step.optimizer.state
    if hasattr(os, "sched_getaffinity"):
        assert len(os.sched_getaffinity(0)) == len(gradient_check.core_numbers())


@pytest.mark.parametrize("call", [1, 2])
def test_a_bit_that_turns_in_one_of_two_gradients_is_found(config, tmp_path, monkeypatch, call):
    """The third computation tells which of the two was wrong."""
    run = alone(checked(config, microbatches=2), tmp_path / "run")
    program, calls = run.gradients.program, []

    def wrong(window):
        made = program(window)
        calls.append(window.shape)
        if len(calls) == call:
            flip(run.model.get_parameter("model.norm.weight").grad, bit=0)
        return made

    monkeypatch.setattr(run.gradients, "program", wrong)
    with pytest.raises(GnomonError) as told:
        run.run()

    assert "before step 2 the gradient of model.norm.weight, computed twice" in str(told.value)
    assert ("A third time it had the bits of the first" in str(told.value)) is (call == 2)
    assert calls == [(1, 17)] * 3
    assert run.done == 1


def test_of_several_ranks_all_stop(config, tmp_path, monkeypatch):
    gradients = GradientCheck.gradients

    def wrong(self, rows, core=None):
        found = gradients(self, rows, core)
        if self.team.rank == 1 and core is not None:
            found["model.norm.weight"][3] += 1
        return found

    monkeypatch.setattr(GradientCheck, "gradients", wrong)
    told = said(train(checked(config), tmp_path / "run", "tensor=2"))

    assert "before step 2 the gradient of model.norm.weight" in told
    assert "(rank 1 on" in told


def test_the_sentence_names_cores_and_machines():
    told = [([], 4, "a"), (["w"], 5, "b")]

    assert "has not the same bits (rank 1 on b). A third time it had" in sentence(7, told, True)
    assert "look at core 4 of a, core 5 of b, which" in sentence(7, told, True)
    assert "was wrong, or nothing repeats" in sentence(7, told, False)


def test_programs_run_on_one_core(monkeypatch):
    pinned = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {1, 5}, raising=False)
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda process, cores: pinned.append(cores), raising=False
    )

    with threads.by_one_core(5):
        assert isinstance(threads.acquire(0), threads.Alone)

    assert pinned == [{5}, {1, 5}]
    threads.acquire(0).release()
