"""States by names of parameters go from one division of a model to another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed.checkpoint as dcp
from gnomon import nn
from gnomon.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.errors import ArgumentError, CheckpointError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

X = np.random.default_rng(1).normal(size=(6, 6)).astype(np.float32)


def made(ranks: int, seed: int) -> tuple[nn.Module, gn.optim.Optimizer]:
    gn.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 6))
    if ranks > 1:
        fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
    groups = [{"params": model[0].parameters(), "lr": 0.1}, {"params": model[2].parameters()}]
    return model, gn.optim.AdamW(groups, lr=0.05)


def steps(model: nn.Module, optimizer: gn.optim.Optimizer, rank: int, ranks: int) -> list[str]:
    """The bits of everything after two steps."""
    own = slice(rank * len(X) // ranks, (rank + 1) * len(X) // ranks)
    for _ in range(2):
        optimizer.zero_grad()
        (model(gn.tensor(X[own])) ** 2).mean().backward()
        optimizer.step()
    return bits(model, optimizer)


def bits(model: nn.Module, optimizer: gn.optim.Optimizer) -> list[str]:
    """The bits of whole parameters and of what the optimizer has of them."""
    full = StateDictOptions(full_state_dict=True, flatten_optimizer_state_dict=True)
    parts = get_state_dict(model, optimizer, options=full)
    found = [x for part in parts for x in part.values() if isinstance(x, gn.Tensor)]
    return [x.numpy().tobytes().hex() for x in found]


def test_training_goes_on_over_other_ranks_with_the_same_bits(tmp_path: Path):
    def first(rank: int, ranks: int) -> tuple[list[str], list[str]]:
        model, optimizer = made(ranks, 0)
        saved = steps(model, optimizer, rank, ranks)
        weights, state = get_state_dict(model, optimizer)
        dcp.save({"model": weights, "optim": state}, checkpoint_id=tmp_path)
        return saved, steps(model, optimizer, rank, ranks)

    def again(rank: int, ranks: int) -> tuple[list[str], list[str]]:
        model, optimizer = made(ranks, 1)
        weights, state = get_state_dict(model, optimizer)
        into = {"model": weights, "optim": state}
        dcp.load(into, checkpoint_id=tmp_path)
        given = {"model_state_dict": into["model"], "optim_state_dict": into["optim"]}
        assert not set_state_dict(model, optimizer, **given).missing_keys
        assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.05]
        return bits(model, optimizer), steps(model, optimizer, rank, ranks)

    (saved, wanted), _ = on_threads(first, 2)
    assert on_threads(again, 2) == [(saved, wanted)] * 2
    assert on_threads(again, 1) == [(saved, wanted)]
    assert [loaded for loaded, _ in on_threads(again, 3)] == [saved] * 3


def test_names_are_those_of_the_plain_model():
    class Wrapper(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

    inner = nn.Sequential(nn.Linear(2, 3))
    inner[0].bias.requires_grad_(False)
    model = Wrapper(inner)
    state = get_model_state_dict(model)
    assert [*state] == ["0.weight", "0.bias"]
    frozen = StateDictOptions(ignore_frozen_params=True)
    assert [*get_model_state_dict(model, options=frozen)] == ["0.weight"]

    set_model_state_dict(model, {**state, "0.weight": gn.ones(3, 2)})
    assert inner[0].weight.tolist() == [[1, 1]] * 3
    loose = StateDictOptions(strict=False)
    assert set_model_state_dict(model, {}, options=loose).missing_keys
    with pytest.raises(RuntimeError, match="Missing key"):
        set_model_state_dict(model, {})


def test_an_optimizer_s_state_is_flat_where_it_is_asked_for():
    model, optimizer = made(1, 0)
    steps(model, optimizer, 0, 1)
    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    state = get_optimizer_state_dict(model, optimizer, options=flat)
    assert state["param_groups.0.weight.lr"] == 0.1
    assert state["state.2.bias.exp_avg"].shape == (6,)

    other, fresh = made(1, 1)
    set_optimizer_state_dict(other, [fresh], state, options=flat)
    wanted = optimizer.state[model[0].weight]["exp_avg"]
    assert fresh.state[other[0].weight]["exp_avg"].equal(wanted)
    assert fresh.param_groups[0]["betas"] == optimizer.param_groups[0]["betas"]


def test_the_first_rank_has_what_all_take():
    def work(rank: int, ranks: int) -> list:
        model, _ = made(ranks, 0)
        given = get_model_state_dict(
            model, options=StateDictOptions(full_state_dict=True, cpu_offload=True)
        )
        assert bool(given) == (rank == 0)
        with gn.no_grad():
            model[0].bias.zero_()
        set_model_state_dict(
            model, given, options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        )
        return model[0].bias.full_tensor().tolist()

    first, second = on_threads(work, 2)
    assert first == second
    assert any(first)


def test_what_belongs_to_another_model_is_refused():
    model, optimizer = made(1, 0)
    other, _ = made(1, 1)

    with pytest.raises(ArgumentError, match="expected parameters of the model"):
        get_optimizer_state_dict(other, optimizer)
    with pytest.raises(ArgumentError, match="expected no submodules"):
        get_model_state_dict(model, submodules={model[0]})
    with pytest.raises(CheckpointError, match=r"no group of the state has 0\.weight"):
        set_optimizer_state_dict(model, optimizer, {"state": {}, "param_groups": []})


def test_a_model_on_the_meta_device_gets_memory_and_values():
    """PyTorch's example of fully_shard goes on from a checkpoint so."""

    def work(rank: int, ranks: int) -> list[list[float]]:
        model, _ = made(1, seed=3)
        model.register_buffer("scale", gn.ones(1))
        whole = model.state_dict() if rank == 0 else {}
        with gn.device("meta"):
            empty, _ = made(ranks, seed=4)
            empty.register_buffer("scale", gn.zeros(1))
        layouts = [p.placements for p in empty.parameters()]
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_model_state_dict(empty, whole, options=options)
        assert [p.placements for p in empty.parameters()] == layouts
        assert not any(x.is_meta for x in (*empty.parameters(), *empty.buffers()))
        assert empty.scale.item() == 1
        fewer = {name: x for name, x in model.state_dict().items() if name == "0.weight"}
        with gn.device("meta"):
            part, _ = made(ranks, seed=4)
        set_model_state_dict(part, fewer, options=StateDictOptions(strict=False))
        assert [x.is_meta for x in part.parameters()] == [False, True, True, True]
        return [x.full_tensor().tolist() for x in empty.parameters()]

    expected = [x.tolist() for x in made(1, seed=3)[0].parameters()]
    assert on_threads(work, 2) == [expected] * 2
