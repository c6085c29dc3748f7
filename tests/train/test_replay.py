"""A rank at fault is found by taking steps again: after planted bits, and wrong messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.runtime.comm.threads import World
from gnomon.train import replay
from gnomon.train.checkpoint import checkpoints, verified
from gnomon.train.loop import Trainer
from gnomon.train.metrics import read_metrics
from gnomon.train.replay import KeptState
from gnomon.train.state import optimizer_entries, own_parts
from gnomon.train.step import TrainStep
from tests.train.planted import flip, said, train
from tests.train.test_state import trained

CURVE = ("loss", "gradient_norm", "learning_rate")
AT = 2
"""The number of the step after which a bit turns."""


def of_batch(config, **changes):
    """A run whose batch two and three ranks share, compared and saved after five of six steps."""
    changes = {"batch_size": 12, "checkpoint_every": 5, **changes}
    evaluation = dataclasses.replace(config.evaluation, batch_size=12)
    changed = dataclasses.replace(config.train, **changes)
    return dataclasses.replace(config, train=changed, evaluation=evaluation)


def faulty(plant: Callable[[Trainer], None], rank: int = 1, at: int = AT) -> type[Trainer]:
    """A trainer of whose ranks one has a fault after a step, when it is taken first."""

    class Faulty(Trainer):
        def take(self, step: int, metrics) -> None:
            super().take(step, metrics)
            if step == at and self.team.rank == rank:
                plant(self)

    return Faulty


def lasting(plant: Callable[[Trainer], None], rank: int = 1, at: int = AT) -> type[Trainer]:
    """The same with a fault that is there again whenever the step is taken again."""

    class Lasting(faulty(plant, rank, at)):
        def replay_step(self, step: int, exchanged: bool) -> int:
            own = super().replay_step(step, exchanged)
            if step == at and self.team.rank == rank:
                plant(self)
            return own

    return Lasting


def in_parameters(run: Trainer) -> None:
    """A bit of a weight turns."""
    flip(next(iter(run.model.parameters())))


def in_state(run: Trainer) -> None:
    """A bit of a running average turns."""
    flip(optimizer_entries(run.model, run.optimizer)["model.norm.weight.exp_avg"])


def in_buffer(run: Trainer) -> None:
    """A bit of a table that every step reads turns."""
    flip(dict(run.model.named_buffers())["model.cosines"], element=20)


PLANTED = [(2, in_parameters), (2, in_state), (2, in_buffer), (3, in_parameters)]


@pytest.mark.parametrize(("ranks", "plant"), PLANTED)
def test_a_bit_that_turns_once_names_its_rank(config, tmp_path, ranks, plant):
    """The steps are taken again from the last state that agreed and was kept."""
    told = said(train(of_batch(config), tmp_path / "run", f"data={ranks}", faulty(plant)))

    assert "after step 5 replicas of the state do not have the same bits: rank 1 on" in told
    assert "rank 0 on" not in told
    assert "Steps 1 to 5, taken again, agree on all ranks: the fault has passed." in told


def test_the_state_that_was_kept_is_saved(config, tmp_path):
    """Each fourth comparison that agrees is followed by a copy."""
    config = of_batch(config, compare_replicas_every=1, checkpoint_every=4)
    assert not said(train(config, tmp_path / "sound", "data=2"))
    config = of_batch(config, checkpoint_every=0)

    told = said(train(config, tmp_path / "run", "data=2", faulty(in_state, at=5)))

    assert "Steps 5 to 6, taken again, agree on all ranks" in told
    (saved,) = checkpoints(tmp_path / "run")
    sound = tmp_path / "sound" / "checkpoints" / "step-00000004"
    assert saved.name == sound.name
    assert verified(saved).trainer["sums"] == verified(sound).trainer["sums"]


def test_a_fault_that_gives_no_numbers_is_no_fault_of_the_learning_rate(config, tmp_path):
    def plant(run: Trainer) -> None:
        flip(next(iter(run.model.parameters())), bit=30)

    told = said(train(of_batch(config), tmp_path / "run", "data=2", faulty(plant)))
    assert "after step 3 replicas of the state do not have the same bits: rank 1 on" in told


def test_of_two_ranks_none_is_named_where_both_repeat_what_they_did(config, tmp_path):
    """A core that is wrong in one way always: the last checkpoint stays the one that agreed."""
    config = of_batch(config, checkpoint_every=2, compare_replicas_every=6)

    told = said(train(config, tmp_path / "run", "data=2", lasting(in_parameters)))

    assert "after step 4 replicas of the state do not have the same bits: rank 0 on" in told
    assert "rank 1 on" in told
    assert "differ from each other" in told
    assert "Steps taken again after step 2 differ after step 3: the fault lasts." in told
    assert [path.name for path in checkpoints(tmp_path / "run")] == ["step-00000002"]


def test_of_two_ranks_the_one_that_does_not_repeat_itself_is_named(config, tmp_path):
    def another_bit_each_time(run: Trainer) -> None:
        run.turned = getattr(run, "turned", 9) + 1
        flip(next(iter(run.model.parameters())), bit=run.turned)

    config = of_batch(config)
    told = said(train(config, tmp_path / "run", "data=2", lasting(another_bit_each_time, 0)))

    assert "rank 0 on" in told
    assert "rank 1 on" not in told
    assert "does not repeat its own first run" in told
    assert "after step 3: the fault lasts" in told


def test_of_three_ranks_a_lasting_fault_has_a_name(config, tmp_path):
    told = said(train(of_batch(config), tmp_path / "run", "data=3", lasting(in_state, 2)))

    assert "rank 2 on" in told
    assert "rank 0 on" not in told
    assert "the fault lasts" in told


class WrongMessage(World):
    """Ranks of which one receives a message with a bit that nobody sent, once."""

    def __init__(self, receiver: int, number: int) -> None:
        super().__init__(2, 60.0)
        self.receiver, self.left = receiver, number

    def take(self, message, rank, name, what) -> bytes:
        content = super().take(message, rank, name, what)
        if rank == self.receiver and message[3] != "tell":
            self.left -= 1
            if self.left == 0:
                return bytes([content[0] ^ 16]) + content[1:]
        return content


@pytest.mark.parametrize("number", [9, 39])
def test_a_bit_that_turns_in_a_message_names_who_received_it(config, tmp_path, number):
    world = WrongMessage(1, number)

    told = said(train(of_batch(config), tmp_path / "run", "data=2", world=world))

    assert "after step 5 replicas of the state do not have the same bits: rank 1 on" in told
    assert "rank 0 on" not in told
    assert "the fault has passed" in told


def test_without_memory_the_newest_checkpoint_is_gone_back_to(config, tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "memory_limit", lambda: 0)
    config = of_batch(config, checkpoint_every=2)

    told = said(train(config, tmp_path / "run", "data=2", faulty(in_parameters)))

    assert "after step 4 " in told
    assert "rank 1 on" in told
    assert "Steps 3 to 4, taken again, agree on all ranks" in told


def test_without_memory_and_checkpoint_nothing_is_taken_again(config, tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "memory_limit", lambda: 0)

    told = said(train(of_batch(config), tmp_path / "run", "data=2", faulty(in_parameters)))

    assert "rank 0 on" in told
    assert "rank 1 on" in told
    assert "There is no earlier state to take steps again from." in told
    assert not checkpoints(tmp_path / "run")


def test_comparing_changes_no_bit(config, tmp_path):
    curves = []
    for every in (0, 1):
        folder = tmp_path / f"run{every}"
        compared = of_batch(config, compare_replicas_every=every)
        (run, told), _ = train(compared, folder, "data=2")
        curves.append([[row[x] for x in CURVE] for row in read_metrics(folder)])
        curves.append(verified(checkpoints(folder)[-1]).trainer["sums"])
        assert not told
        assert (run.replay.kept.step == 6) is bool(every)

    assert curves[:2] == curves[2:]


def test_a_state_that_was_kept_comes_back(config):
    model, optimizer = trained(config, 1)
    kept = KeptState(model, optimizer)
    kept.keep(1)
    before = {name: x.array.copy() for name, x in own_parts(model, optimizer).items()}
    step = TrainStep(model, optimizer, config)
    window = np.arange(34, dtype=np.int64).reshape(2, 17)
    first = step(window, 1e-3), step(window, 1e-3)
    gn.rand(3)

    kept.put_back()

    after = own_parts(model, optimizer)
    assert all((before[name] == x.array).all() for name, x in after.items())
    assert before.keys() == after.keys()
    assert (gn.get_rng_state() == kept.draws).all()
    assert (step(window, 1e-3), step(window, 1e-3)) == first


def test_a_state_before_the_first_step_comes_back(config):
    model, optimizer = trained(config, 0)
    kept = KeptState(model, optimizer)
    kept.keep(0)
    step = TrainStep(model, optimizer, config)
    window = np.arange(34, dtype=np.int64).reshape(2, 17)
    first = step(window, 1e-3), step(window, 1e-3)

    kept.put_back()

    assert not optimizer.state
    assert (step(window, 1e-3), step(window, 1e-3)) == first


def random_fault(rng: np.random.Generator, rank: int) -> tuple[type[Trainer], World]:
    """A bit anywhere: of a message, or of a parameter, an average, a buffer, after some step."""
    kind, pick = rng.integers(4), int(rng.integers(10**6))
    if kind == 3:
        return Trainer, WrongMessage(rank, 1 + pick % 260)
    at, element, bit = int(rng.integers(5)), int(rng.integers(10**6)), int(rng.integers(31))

    def plant(run: Trainer) -> None:
        state = optimizer_entries(run.model, run.optimizer)
        held = [
            dict(run.model.named_parameters()),
            dict(run.model.named_buffers()),
            {name: x for name, x in state.items() if not name.endswith("step")},
        ][kind]
        chosen = [*held.values()][pick % len(held)]
        flip(chosen, element % chosen.numel(), bit)

    return faulty(plant, rank, at), World(2, 60.0)


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 64))]
)
def test_of_two_ranks_the_sound_one_is_never_named_alone(config, tmp_path, seed):
    rng = np.random.default_rng(seed)
    rank = seed % 2

    kind, world = random_fault(rng, rank)
    told = said(train(of_batch(config), tmp_path / "run", "data=2", kind, world))

    # a message that is folded and handed on reaches both alike, and then nobody differs
    assert not told or f"rank {rank} on" in told
