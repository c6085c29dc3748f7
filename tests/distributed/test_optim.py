"""An optimizer of whose state each rank keeps a part has the bits of one of all parameters."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.optim import ZeroRedundancyOptimizer
from gnomon.errors import ArgumentError
from tests.distributed.on_threads import on_threads


def model_of(seed: int = 0) -> nn.Module:
    """Two layers."""
    gn.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


def groups_of(model: nn.Module) -> list[dict]:
    """Its parameters in two groups."""
    return [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.5}]


def step(model: nn.Module, optimizer: gn.optim.Optimizer, compiled: bool = False) -> None:
    """A step on the same rows everywhere."""

    def change(x: gn.Tensor) -> None:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    (gn.compile(change) if compiled else change)(gn.arange(20.0).reshape(5, 4) / 20)


def bits(model: nn.Module) -> list:
    """The values of all parameters."""
    return [p.tolist() for p in model.parameters()]


def plain(times: int, **words) -> list:
    """The values after so many steps of one optimizer, the learning rate halved after each."""
    model = model_of()
    optimizer = gn.optim.AdamW(groups_of(model), lr=0.1, **words)
    schedule = gn.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(times):
        step(model, optimizer)
        schedule.step()
    return bits(model)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("compiled", [False, True])
def test_ranks_have_the_bits_of_one_optimizer(ranks: int, compiled: bool):
    def work(rank: int, ranks: int) -> list:
        model = model_of()
        optimizer = ZeroRedundancyOptimizer(groups_of(model), gn.optim.AdamW, lr=0.1)
        schedule = gn.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        for _ in range(3):
            step(model, optimizer, compiled)
            schedule.step()
        held = sum(entry["exp_avg"].numel() for entry in optimizer.optim.state.values())
        assert held < 58
        return bits(model)

    assert on_threads(work, ranks) == [plain(3)] * ranks


def test_a_state_is_brought_together_and_goes_on():
    def work(rank: int, ranks: int) -> list:
        model = model_of()
        optimizer = ZeroRedundancyOptimizer(groups_of(model), gn.optim.AdamW, lr=0.1)
        step(model, optimizer)
        with pytest.raises(ArgumentError, match="has not been consolidated on this rank"):
            optimizer.state_dict()
        states = []
        for to in range(ranks):
            optimizer.consolidate_state_dict(to)
            states += [optimizer.state_dict()] if rank == to else []
        (state,) = states
        assert list(state["state"]) == [0, 1, 2, 3]
        other = model_of(1)
        other.load_state_dict(model.state_dict())
        single = gn.optim.AdamW(groups_of(other), lr=0.1)
        single.load_state_dict(state)
        third = model_of(2)
        third.load_state_dict(model.state_dict())
        again = ZeroRedundancyOptimizer(groups_of(third), gn.optim.AdamW, lr=7.0)
        again.load_state_dict(state)
        for each, by in ((model, optimizer), (other, single), (third, again)):
            step(each, by)
        assert bits(model) == bits(other) == bits(third)
        return again.param_groups[1]["lr"]

    assert on_threads(work, 2) == [0.5, 0.5]


def test_groups_may_be_added():
    def work(rank: int, ranks: int) -> list:
        model = model_of()
        first, second = groups_of(model)
        optimizer = ZeroRedundancyOptimizer([first], gn.optim.AdamW, lr=0.1)
        optimizer.add_param_group(second)
        seen = []
        optimizer.register_step_pre_hook(lambda *given: seen.append("before"))
        optimizer.register_step_post_hook(lambda *given: seen.append("after"))
        step(model, optimizer)
        assert seen == ["before", "after"]
        return bits(model)

    assert on_threads(work, 2) == [plain(1)] * 2


def test_overlapping_is_refused_by_name():
    def work(rank: int, ranks: int) -> None:
        with pytest.raises(ArgumentError, match="overlap_with_ddp=True: steps follow"):
            ZeroRedundancyOptimizer(
                model_of().parameters(), gn.optim.SGD, overlap_with_ddp=True, lr=0.1
            )

    on_threads(work, 1)
