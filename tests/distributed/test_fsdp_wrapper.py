"""FullyShardedDataParallel: one process's curve to the bit, states, and what is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    MixedPrecision,
    ShardedStateDictConfig,
    ShardingStrategy,
    StateDictType,
)
from gnomon.distributed.fsdp import FullyShardedDataParallel as FSDP
from gnomon.distributed.tensor import DTensor, Replicate
from gnomon.distributed.wrapping import ModuleWrapPolicy, enable_wrap, size_based_auto_wrap_policy
from gnomon.distributed.wrapping import wrap as annotated
from gnomon.errors import ArgumentError
from gnomon.runtime.comm.environment import Environment, thread_place
from tests.distributed.on_threads import on_threads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 16, 32)).astype(np.float32)
Y = RNG.normal(size=(3, 16, 8)).astype(np.float32)
BY_LAYER: dict[str, Any] = {"auto_wrap_policy": ModuleWrapPolicy({nn.Linear})}


def plain(seed: int = 0) -> nn.Module:
    """Two layers, and a buffer between them."""
    gn.manual_seed(seed)
    return nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))


def trained(model: nn.Module, compiled: bool = False) -> tuple[list[str], gn.optim.Optimizer]:
    """The bits of losses of steps on this rank's rows, averaged over the ranks, and of norms."""
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)
    each = 16 // dist.get_world_size()
    own = slice(dist.get_rank() * each, (dist.get_rank() + 1) * each)

    def step(x: gn.Tensor, y: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        if isinstance(model, FSDP):
            norm = model.clip_grad_norm_(1.0)
        else:
            norm = nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
        optimizer.step()
        return loss.detach(), norm

    step, found = gn.compile(step) if compiled else step, []
    for x, y in zip(X, Y, strict=True):
        loss, norm = step(gn.tensor(x[own]), gn.tensor(y[own]))
        loss = loss.clone()
        dist.all_reduce(loss, dist.ReduceOp.AVG)
        found += [float(loss).hex(), float(norm).hex()]
    return found, optimizer


@pytest.fixture(scope="module")
def alone() -> list[str]:
    """One process's losses and norms of the plain model."""
    return on_threads(lambda rank, ranks: trained(plain())[0], 1)[0]


WAYS: dict[str, dict[str, Any]] = {
    "whole": {},
    "by layer": BY_LAYER,
    "by size": {
        "auto_wrap_policy": partial(size_based_auto_wrap_policy, min_num_params=1000),
        "cpu_offload": CPUOffload(offload_params=True),
        "backward_prefetch": BackwardPrefetch.BACKWARD_POST,
        "mixed_precision": MixedPrecision(param_dtype=gn.float32),
        "use_orig_params": True,
        "limit_all_gathers": False,
        "device_id": 0,
    },
    "gradients": BY_LAYER | {"sharding_strategy": ShardingStrategy.SHARD_GRAD_OP},
    "not at all": BY_LAYER | {"sharding_strategy": ShardingStrategy.NO_SHARD},
    "hybrid": BY_LAYER | {"sharding_strategy": ShardingStrategy.HYBRID_SHARD},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_wrapped_model_has_one_processs_curve(way: str, alone: list[str]):
    found = on_threads(lambda rank, ranks: trained(FSDP(plain(), **WAYS[way]))[0], 2)

    assert found == [alone] * 2


def test_a_compiled_step_has_it_too(alone: list[str]):
    found = on_threads(lambda rank, ranks: trained(FSDP(plain(), **BY_LAYER), compiled=True)[0], 2)

    assert found == [alone] * 2


def test_annotated_layers_are_wrapped(alone: list[str]):
    def work(rank: int, ranks: int) -> list[str]:
        with enable_wrap(wrapper_cls=FSDP, use_orig_params=True):
            gn.manual_seed(0)
            layers = annotated(nn.Linear(32, 64)), nn.GELU(), annotated(nn.Linear(64, 8))
        model = FSDP(nn.Sequential(*layers))
        assert len(FSDP.fsdp_modules(model)) == 3
        assert FSDP.fsdp_modules(model, root_only=True) == [model]
        assert [m.check_is_root() for m in FSDP.fsdp_modules(model)] == [True, False, False]
        return trained(model)[0]

    assert on_threads(work, 2) == [alone] * 2


def test_the_first_ranks_values_are_spread(alone: list[str]):
    def work(rank: int, ranks: int) -> list[str]:
        return trained(FSDP(plain(seed=rank), sync_module_states=True, **BY_LAYER))[0]

    assert on_threads(work, 2) == [alone] * 2


def test_attributes_are_those_of_the_module_inside():
    def work(rank: int, ranks: int) -> None:
        inner = plain()
        model = FSDP(inner, **BY_LAYER)
        assert model.module is inner
        assert model[0].in_features == 32
        assert isinstance(model[0], FSDP)
        assert isinstance(model[0].weight, DTensor)
        with model.no_sync():
            model(gn.ones(2, 32)).sum().backward()
        assert model[2].weight.grad.shape == (8, 64)

    on_threads(work, 2)


def test_ignored_modules_stay_as_they_are():
    def work(rank: int, ranks: int) -> None:
        inner = plain()
        model = FSDP(inner, ignored_modules=[inner[0]], ignored_states=[inner[2].bias], **BY_LAYER)
        assert not isinstance(inner[0], FSDP)
        kinds = [isinstance(p, DTensor) for p in model.parameters()]
        assert kinds == [False, False, True, False]

    on_threads(work, 2)


def test_states_are_whole_or_in_parts_and_load_as_such():
    def work(rank: int, ranks: int) -> None:
        want = plain().state_dict()
        model, other = FSDP(plain(), **BY_LAYER), FSDP(plain(1), **BY_LAYER)
        whole = model.state_dict()
        assert list(whole) == list(want)
        assert not any(isinstance(x, DTensor) for x in whole.values())
        assert all(gn.equal(whole[name], want[name]).all() for name in want)
        with FSDP.state_dict_type(
            model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(True, rank0_only=True)
        ):
            assert list(model.state_dict()) == (list(want) if rank == 0 else [])
        with FSDP.state_dict_type(model, StateDictType.SHARDED_STATE_DICT):
            parts = model.state_dict()
            assert all(isinstance(x, DTensor) for x in parts.values())
        assert FSDP.get_state_dict_type(model).state_dict_type is StateDictType.FULL_STATE_DICT
        other.load_state_dict(whole)
        assert all(gn.equal(x, want[k]).all() for k, x in other.state_dict().items())
        third = FSDP(plain(2))
        with FSDP.state_dict_type(third, StateDictType.SHARDED_STATE_DICT):
            third.load_state_dict(parts)
        assert all(gn.equal(x, want[k]).all() for k, x in third.state_dict().items())
        for full in (False, True):
            found = get_model_state_dict(model, options=StateDictOptions(full_state_dict=full))
            assert [isinstance(x, DTensor) for x in found.values()] == [not full] * 4

    on_threads(work, 2)


def test_an_optimizers_state_goes_on_elsewhere(alone: list[str]):
    def work(rank: int, ranks: int) -> list:
        model = FSDP(plain(), **BY_LAYER)
        _, optimizer = trained(model)
        state = FSDP.optim_state_dict(model, optimizer)
        assert list(state["state"]) == ["0.weight", "0.bias", "2.weight", "2.bias"]
        assert not isinstance(state["state"]["0.weight"]["exp_avg"], DTensor)
        other = FSDP(plain(1))
        other.load_state_dict(model.state_dict())
        another = gn.optim.AdamW(other.parameters(), lr=1e-2)
        another.load_state_dict(FSDP.optim_state_dict_to_load(other, another, state))
        for made, by in ((model, optimizer), (other, another)):
            by.zero_grad()
            made(gn.tensor(X[0][:4])).sum().backward()
            by.step()
        FSDP.optim_state_dict_to_load(other, another, state, load_directly=True)
        FSDP.set_state_dict_type(
            model,
            StateDictType.FULL_STATE_DICT,
            FullStateDictConfig(rank0_only=True),
            FullOptimStateDictConfig(rank0_only=True),
        )
        assert bool(FSDP.optim_state_dict(model, optimizer)) is (rank == 0)
        assert bool(FSDP.full_optim_state_dict(model, optimizer)) is (rank == 0)
        FSDP.set_state_dict_type(model, StateDictType.SHARDED_STATE_DICT)
        parts = FSDP.optim_state_dict(model, optimizer)["state"]["0.weight"]
        assert isinstance(parts["exp_avg"], DTensor)
        return [p.full_tensor().tolist() for m in (model, other) for p in m.parameters()]

    for found in on_threads(work, 2):
        assert found[:4] == found[4:]


def test_whole_parameters_can_be_read_and_written():
    def work(rank: int, ranks: int) -> None:
        model, want = FSDP(plain(), **BY_LAYER), plain()
        model(gn.tensor(X[0][:4])).sum().backward()
        with FSDP.summon_full_params(model, with_grads=True):
            named = dict(model.named_parameters())
            assert list(named) == list(want.state_dict())
            assert not any(isinstance(p, DTensor) for p in named.values())
            assert gn.equal(named["0.weight"], want[0].weight).all()
            assert not isinstance(named["0.weight"].grad, DTensor)
            with gn.no_grad():
                named["0.bias"].fill_(5.0)
        with FSDP.summon_full_params(model, writeback=False, rank0_only=True), gn.no_grad():
            model[2].bias.fill_(7.0)
        assert isinstance(model[0].bias, DTensor)
        assert isinstance(model[0].weight.grad, DTensor)
        state = model.state_dict()
        assert state["0.bias"].tolist() == [5.0] * 64
        assert gn.equal(state["2.bias"], want[2].bias).all()
        with pytest.raises(NotImplementedError, match="Say writeback=False"):
            FSDP.summon_full_params(model, rank0_only=True).__enter__()

    on_threads(work, 2)


def test_parameters_are_replicated_over_the_first_axis_of_a_mesh():
    def work(rank: int, ranks: int) -> None:
        model = FSDP(plain(), device_mesh=init_device_mesh("cpu", (2, 1)))
        assert model[0].weight.placements[0] == Replicate()
        group = FSDP(plain(), process_group=dist.new_group([0, 1]))
        assert len(group[0].weight.placements) == 1

    on_threads(work, 2)


def test_parts_within_a_machine_divide_the_ranks():
    def work(rank: int, ranks: int) -> None:
        place = Environment(rank, ranks, rank, 2, "a test")
        given = {"sharding_strategy": ShardingStrategy.HYBRID_SHARD}
        with (
            thread_place(place),
            pytest.raises(ArgumentError, match="2 ranks of a machine do not"),
        ):
            FSDP(plain(), **given)

    on_threads(work, 3)


def test_what_cannot_be_honoured_is_refused_by_name():
    def work(rank: int, ranks: int) -> None:
        low = MixedPrecision(param_dtype=gn.bfloat16, keep_low_precision_grads=True)
        for given, told in (
            ({"mixed_precision": low}, "keep_low_precision_grads=True: gradients have"),
            ({"param_init_fn": lambda m: None}, "expected no param_init_fn"),
            ({"process_group": (None, None)}, "expected one process_group"),
        ):
            with pytest.raises(ArgumentError, match=told):
                FSDP(plain(), **given)
        model = FSDP(plain())
        with pytest.raises(ArgumentError, match="register_comm_hook: expected nothing"):
            model.register_comm_hook(None, lambda state, x: x)
        with pytest.raises(ArgumentError, match="parts without a layout are no state"):
            FSDP.set_state_dict_type(model, StateDictType.LOCAL_STATE_DICT)
        with pytest.raises(ArgumentError, match="takes FullStateDictConfig and"):
            FSDP.set_state_dict_type(model, StateDictType.FULL_STATE_DICT, ShardedStateDictConfig())
        optimizer = gn.optim.SGD(model.parameters(), lr=0.1)
        with pytest.raises(ArgumentError, match="expected the optimizer alone"):
            FSDP.optim_state_dict(model, optimizer, optimizer.state_dict())

    on_threads(work, 2)
