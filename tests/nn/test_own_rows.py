"""Batch norm inside of a fully sharded module: by a rank's own rows, or by those of all ranks."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.tensor import Shard, distribute_tensor
from tests.distributed.on_threads import on_threads

ROWS = np.random.default_rng(1).standard_normal((2, 5, 6)).astype(np.float32)


def model_of(synchronized: bool = False) -> nn.Module:
    """A net with a batch norm, of fixed weights."""
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    rng = np.random.default_rng(0)
    with gn.no_grad():
        for p in net.parameters():
            p.copy_(gn.from_numpy(rng.standard_normal(tuple(p.shape)).astype(np.float32)))
    return nn.SyncBatchNorm.convert_sync_batchnorm(net) if synchronized else net


def step(net: nn.Module, x: gn.Tensor, compiled: bool = False) -> tuple:
    """The loss, all gradients and the running mean."""

    def loss_of(x: gn.Tensor) -> gn.Tensor:
        return net(x).square().mean()

    loss = (gn.compile(loss_of) if compiled else loss_of)(x)
    loss.backward()
    grads = [
        p.grad.full_tensor() if hasattr(p.grad, "full_tensor") else p.grad for p in net.parameters()
    ]
    return loss.item(), [g.numpy().copy() for g in grads], net[1].running_mean.numpy().copy()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("synchronized", [False, True])
def test_plain_rows_have_their_ranks_statistics(synchronized: bool, compiled: bool):
    if synchronized:
        alone = [step(model_of(), gn.tensor(ROWS.reshape(10, 6)))] * 2
    else:
        alone = [step(model_of(), gn.tensor(rows)) for rows in ROWS]
    wanted = [np.mean(each, axis=0) for each in zip(*(grads for _, grads, _ in alone), strict=True)]

    found = on_threads(
        lambda rank, _: step(fully_shard(model_of(synchronized)), gn.tensor(ROWS[rank]), compiled),
        2,
    )

    assert np.mean([x[0] for x in found]) == pytest.approx(np.mean([x[0] for x in alone]), rel=1e-5)
    for (_, grads, mean), (_, _, mean_alone) in zip(found, alone, strict=True):
        assert np.allclose(mean, mean_alone, atol=1e-6)
        assert all(np.allclose(a, b, atol=2e-5) for a, b in zip(grads, wanted, strict=True))


def test_rows_of_a_tensor_over_the_mesh_are_one_batch():
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(ROWS.reshape(10, 6)), mesh, [Shard(0)])
        net = fully_shard(model_of(), mesh=mesh)
        net(x)
        return net[1].running_mean.tolist()

    net = model_of()
    net(gn.tensor(ROWS.reshape(10, 6)))
    first, second = on_threads(work, 2)

    assert first == second
    assert np.allclose(first, net[1].running_mean.numpy(), atol=1e-6)
