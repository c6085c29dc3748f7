"""SyncBatchNorm over ranks is BatchNorm over all their rows, in values, gradients and buffers."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from tests.distributed.on_threads import on_threads

X = (gn.arange(6.0 * 4 * 5).reshape(6, 4, 5) * 1.7).sin()
ENDS = {2: (0, 2, 6), 3: (0, 1, 3, 6)}
"""Ranks -> where the rows of each begin: they have different numbers."""


def step(net: nn.Module, x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
    """The result, and the input's gradient of a weighed loss."""
    rows = x.clone().requires_grad_()
    made = net(rows)
    (made * made * (x + 2)).sum().backward()
    return made.detach(), rows.grad


def run(net: nn.Module, x: gn.Tensor, compiled: bool) -> tuple[list, list]:
    """What a rank has of its own, and what a model keeps: gradients and buffers."""
    made = (gn.compile(step) if compiled else step)(net, x)
    kept = (*(p.grad for p in net.parameters()), *net.buffers())
    return [y.numpy() for y in made], [y.numpy() for y in kept]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("ranks", ENDS)
def test_it_is_batch_norm_of_all_rows(ranks: int, compiled: bool):
    def train(rank: int, ranks: int) -> tuple[list, list]:
        layer = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.BatchNorm1d(4)))
        assert type(layer[0]) is nn.SyncBatchNorm
        return run(layer, X[ENDS[ranks][rank] : ENDS[ranks][rank + 1]], compiled)

    found = on_threads(train, ranks)

    rows, kept = run(nn.BatchNorm1d(4), X, False)
    for k, expected in enumerate(rows):
        made = np.concatenate([of_rank[0][k] for of_rank in found])
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)
    for k, expected in enumerate(kept):
        parts = [of_rank[1][k] for of_rank in found]
        made = sum(parts) if k < 2 else parts[0]
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_conversion_keeps_parameters_modes_and_what_is_no_batch_norm():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=None), nn.LayerNorm(4)).eval()
    before = net.state_dict(keep_vars=True)

    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)

    after = made.state_dict(keep_vars=True)
    assert all(after[name] is value for name, value in before.items())
    assert made[1].momentum is None
    assert not made[1].training
    with pytest.raises(ArgumentError, match="expected at least 2D input"):
        made.train()[1](gn.ones(4))
