"""Under `verify` ranks compare what counts as alike on all of them, where it meets parts."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.device_mesh import DeviceMesh, init_device_mesh
from gnomon.distributed.fsdp import fully_shard
from gnomon.distributed.placing import split_rows
from gnomon.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from gnomon.errors import CollectiveError
from gnomon.settings import override
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit

WHOLE = np.arange(36, dtype=np.float32).reshape(6, 6)


def masked(x: gn.Tensor, own: gn.Tensor, mesh: DeviceMesh) -> gn.Tensor:
    """A mask meets what is split."""
    return gn.where(own > 0, x, 1.0)  # here


def product(x: gn.Tensor, own: gn.Tensor, mesh: DeviceMesh) -> gn.Tensor:
    """A plain factor meets rows that are split."""
    return (own.sin() + x) @ own  # here


def normed(x: gn.Tensor, own: gn.Tensor, mesh: DeviceMesh) -> gn.Tensor:
    """A plain weight meets rows in a kernel written by hand."""
    return nn.functional.layer_norm(x, (6,), own[0])  # here


def of_trainer(x: gn.Tensor, own: gn.Tensor, mesh: DeviceMesh) -> gn.Tensor:
    """A batch that all ranks should hold is divided."""
    return split_rows(own, mesh, *mesh.names)  # here


def value(x: gn.Tensor) -> np.ndarray:
    """The whole value."""
    return (x.full_tensor() if isinstance(x, DTensor) else x).numpy()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("mixed", [masked, product, normed, of_trainer])
def test_a_value_that_differs_is_named_with_its_line(mixed, ranks: int, compiled: bool):
    def work(rank: int, ranks: int) -> list[np.ndarray]:
        mesh = init_device_mesh("cpu", (ranks,))
        x = distribute_tensor(gn.tensor(WHOLE), mesh, [Shard(0)])
        call = gn.compile(mixed) if compiled else mixed
        found = []
        for verify in (False, True):
            with override(verify=verify):
                made = call(x, gn.tensor(WHOLE % 5 - 2), mesh)
                found.append(value(made))
        wrong = gn.tensor(WHOLE % 5 - 2 + 5 * (rank == 1) * (WHOLE == 0))
        told = r"counts as replicated over mesh axis .* ranks differ: 0(, 2)?; 1\..*test_alike\.py:"
        with override(verify=True), pytest.raises(CollectiveError, match=told) as raised:
            value(call(x, wrong, mesh))
        line = int(re.search(r"test_alike\.py:(\d+)", str(raised.value))[1])
        with open(__file__, encoding="utf-8") as file:
            assert "# here" in file.readlines()[line - 1]
        return found

    for before, after in on_threads(work, ranks):
        assert np.array_equal(before, after)


def test_what_ranks_rightly_have_to_themselves_is_not_compared():
    def work(rank: int, ranks: int) -> None:
        mesh = init_device_mesh("cpu", (ranks,))
        own = gn.tensor(WHOLE + rank)
        with override(verify=True):
            x = distribute_tensor(gn.tensor(WHOLE), mesh, [Replicate()])
            assert np.array_equal((x * own).to_local().numpy(), WHOLE * (WHOLE + rank))
            model = nn.Linear(6, 6)
            model.scale = nn.Parameter(gn.tensor([1.0 + rank]))
            fully_shard(model, ignored_params={model.scale})
            (model(own) * model.scale).sum().backward()
            assert model.scale.grad is not None

    on_threads(work, 2)
