"""Tensors whose rows are spread over ranks, on the public path: a compiled training step."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.mesh import ALONE
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import run_ranks
from gnomon.distributed.tensor import Shard, distribute_tensor
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit


def trained(mesh: DeviceMesh, compiled: bool) -> bytes:
    """The bits of a small model after three steps."""
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = gn.optim.AdamW(model.parameters(), lr=0.01)
    rng = np.random.default_rng(1)
    # threads share the generator of first weights
    for p in model.parameters():
        p.data = gn.from_numpy(rng.standard_normal(p.shape).astype(np.float32))

    def step(x: gn.Tensor, y: gn.Tensor) -> gn.Tensor:
        optimizer.zero_grad()
        x, y = (split_rows(each, mesh, "data") for each in (x, y))
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = gn.compile(step) if compiled else step
    losses = []
    for _ in range(3):
        x, y = (rng.standard_normal((8, n)).astype(np.float32) for n in (6, 3))
        losses.append(step(gn.from_numpy(x), gn.from_numpy(y)).numpy().tobytes())
    return b"".join([*losses, *(p.detach().numpy().tobytes() for p in model.parameters())])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_users_module_trains_to_the_bits_of_one_process(ranks: int, compiled: bool):
    mesh = DeviceMesh.of({"data": ranks})

    found = run_ranks(mesh, lambda rank: trained(mesh, compiled))

    assert set(found) == {trained(ALONE, compiled)}


def test_tensors_over_a_mesh_elsewhere_in_the_process_change_nothing():
    def work(rank: int, ranks: int) -> None:
        distribute_tensor(gn.ones(2), init_device_mesh("cpu", (ranks,)), [Shard(0)])

    on_threads(work, 2)
    mesh = DeviceMesh.of({"data": 2})

    assert set(run_ranks(mesh, lambda rank: trained(mesh, False))) == {trained(ALONE, False)}


def test_an_axis_that_is_not_there_changes_nothing():
    x = gn.ones(4, 2)

    assert split_rows(x, ALONE, "data") is x
