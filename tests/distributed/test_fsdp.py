"""Fully sharded scripts as PyTorch's are written give the losses of one process, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
import gnomon.distributed as dist
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from gnomon.distributed.tensor import Replicate, Shard
from gnomon.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from gnomon.errors import ArgumentError
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 16, 32)).astype(np.float32)
Y = RNG.normal(size=(3, 16, 8)).astype(np.float32)


def trained(shape: tuple[int, int], compiled: bool) -> list[tuple[str, str]]:
    """The bits of losses and norms over a mesh of rows and of tensor parallel ranks."""
    gn.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("dp", "tp"))
    if shape[1] > 1:
        plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
        parallelize_module(model, mesh["tp"], plan)
    if shape[0] > 1:
        fully_shard(model[0], mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-2)

    def step(x: gn.Tensor, y: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(list(model.parameters()), 1.0)
        optimizer.step()
        return loss.detach(), norm

    step, found, each = gn.compile(step) if compiled else step, [], 16 // shape[0]
    for x, y in zip(X, Y, strict=True):
        own = slice(mesh.get_local_rank("dp") * each, (mesh.get_local_rank("dp") + 1) * each)
        loss, norm = step(gn.tensor(x[own]), gn.tensor(y[own]))
        loss = loss.clone()
        dist.all_reduce(loss, dist.ReduceOp.AVG, group=mesh.get_group("dp"))
        found.append((float(loss).hex(), float(norm).hex()))
    return found


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (4, 1), (1, 2), (2, 2)], ids=str)
def test_a_script_has_the_bits_of_one_process(shape: tuple[int, int], compiled: bool):
    (alone,) = on_threads(lambda rank, ranks: trained((1, 1), compiled), 1)

    ranks = shape[0] * shape[1]

    assert on_threads(lambda rank, _: trained(shape, compiled), ranks) == [alone] * ranks


def test_parameters_are_split_along_the_first_axis_that_ranks_divide():
    def work(rank: int, ranks: int) -> None:
        model = nn.Sequential(nn.Linear(6, 5), nn.Linear(5, 4))
        assert fully_shard(model[1]) is model[1]
        mesh = init_device_mesh("cpu", (1, 2))
        fully_shard(model, mesh=mesh)
        assert isinstance(model, FSDPModule)
        assert isinstance(model[1], FSDPModule)
        assert not isinstance(model[0], FSDPModule)
        assert model[0].weight.placements == (Replicate(), Shard(1))
        assert model[0].bias.placements == (Replicate(), Replicate())
        kept = nn.Linear(4, 4)
        fully_shard(kept, ignored_params={kept.bias}, shard_placement_fn=lambda p: Shard(-1))
        assert kept.weight.placements == (Shard(1),)
        assert not hasattr(kept.bias, "placements")

    on_threads(work, 2)


def test_a_rank_gets_its_own_rows_of_the_result():
    def work(rank: int, ranks: int) -> None:
        gn.manual_seed(0)
        model = nn.Linear(32, 8)
        whole = model(gn.tensor(X[0])).tolist()
        fully_shard(model)
        for _ in range(2):
            found = model(gn.tensor(X[0][8 * rank : 8 * rank + 8]))
            assert not hasattr(found, "placements")
            assert found.tolist() == whole[8 * rank : 8 * rank + 8]

    on_threads(work, 2)


def test_what_has_no_meaning_here_is_refused():
    def work(rank: int, ranks: int) -> None:
        with pytest.raises(ArgumentError, match=r"use gn\.autocast|Use gn\.autocast"):
            fully_shard(nn.Linear(2, 2), mp_policy=MixedPrecisionPolicy(gn.bfloat16))
        with pytest.raises(ArgumentError, match="parts of fewer ranks"):
            fully_shard(nn.Linear(2, 2), reshard_after_forward=2)
        with pytest.raises(ArgumentError, match="a mesh of one axis or two"):
            fully_shard(nn.Linear(2, 2), mesh=init_device_mesh("cpu", (1, 1, 1)))

    on_threads(work, 1)
