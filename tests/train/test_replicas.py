"""Replicas that do not have the same bits are found, and the one that is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.train.replicas import Difference, Replicas, checksum
from gnomon.train.state import own_parts


def test_every_bit_changes_the_checksum(rng: np.random.Generator):
    arrays = [rng.standard_normal(11).astype(np.float32), np.arange(3, dtype=np.int8), np.zeros(0)]
    before = checksum(arrays)

    for array in arrays[:2]:
        flat = array.view(np.uint8)
        for place in range(flat.size):
            for bit in range(8):
                flat[place] ^= 1 << bit
                assert checksum(arrays) != before
                flat[place] ^= 1 << bit
    assert checksum(arrays) == before
    assert checksum(arrays[::-1]) != before


def replicas(*axes: tuple[str, int]) -> Replicas:
    """Replicas over a mesh."""
    model = gn.nn.Linear(1, 1)
    return Replicas(model, gn.optim.AdamW(model.parameters()), DeviceMesh.of(axes))


def test_equal_replicas_and_unequal_parts_are_as_they_should_be():
    sums = [[[[], 5], [["tensor"], 7 + rank % 2]] for rank in range(4)]

    assert replicas(("data", 2), ("tensor", 2)).difference(sums) is None


@pytest.mark.parametrize("wrong", range(3))
def test_of_three_the_minority_is_named(wrong: int):
    sums = [[[[], 5 + (rank == wrong)]] for rank in range(3)]

    assert replicas(("data", 3)).difference(sums) == Difference((wrong,), True)


def test_of_two_both_are_named():
    sums = [[[[], 1], [["tensor"], rank // 2]] for rank in range(4)]

    found = replicas(("data", 2), ("tensor", 2)).difference(sums)
    assert found == Difference((0, 1, 2, 3), False)


def test_parameters_buffers_and_the_optimizers_state_are_all_in_the_sums():
    """A layer with BatchNorm, after a step: a bit of each tensor changes the sum."""
    model = gn.nn.Sequential(gn.nn.Linear(3, 2), gn.nn.BatchNorm1d(2))
    optimizer = gn.optim.AdamW(model.parameters())
    model(gn.ones(4, 3) * gn.arange(4.0)[:, None]).sum().backward()
    optimizer.step()
    held = Replicas(model, optimizer, DeviceMesh.of({"data": 2}))
    before = held.sums()

    parts = own_parts(model, optimizer)
    assert {"0.weight", "1.running_var", "1.num_batches_tracked", "1.bias.exp_avg_sq"} <= {*parts}
    for name, (_, array) in parts.items():
        array.reshape(-1).view(np.uint8)[-1] ^= 1
        assert held.sums() != before, name
        array.reshape(-1).view(np.uint8)[-1] ^= 1
    assert held.sums() == before
