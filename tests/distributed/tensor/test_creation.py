"""New tensors over a mesh have one process's elements."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.distributed import tensor as over
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import Shard
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", ["rand", "randn", "zeros", "ones", "empty"])
def test_each_rank_makes_its_part_of_what_one_process_makes(name: str):
    gn.manual_seed(7)
    alone = getattr(gn, name)(6, 4).tolist()

    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (3,))
        gn.manual_seed(7)
        make = getattr(over, name)
        return make(6, 4, device_mesh=mesh, placements=[Shard(0)]).to_local().tolist()

    assert [row for part in on_threads(work, 3) for row in part] == alone


def test_one_value_is_laid_as_a_leaf():
    def work(rank: int, ranks: int) -> tuple:
        mesh = init_device_mesh("cpu", (2,))
        made = over.full((4,), 2.5, device_mesh=mesh, placements=[Shard(0)], requires_grad=True)
        made.sum().backward()
        return made.to_local().tolist(), made.grad.to_local().tolist()

    assert on_threads(work, 2) == [([2.5, 2.5], [1.0, 1.0])] * 2
