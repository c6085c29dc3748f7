"""Experts on any mesh, under any split in time, have the curve of one process."""

from __future__ import annotations

import pytest

from gnomon.distributed.mesh import mesh_of
from gnomon.distributed.plans import TENSOR, ShardingPlan
from gnomon.distributed.ranks import run_ranks
from tests.train.curves import PATIENCE, alone, batches, config_of, curve_from, made, on

STEPS = 3
SOME = [("", 4), ("data=2", 1), ("shard=2,tensor=2", 1)]
ALL = [
    *[("", 2), ("data=4", 1), ("data=8", 1), ("data=3", 1), ("shard=2", 1), ("shard=4", 1)],
    *[("tensor=2", 1), ("data=2,tensor=2", 1), ("data=2,shard=2", 1), ("data=4,tensor=2", 1)],
    *[("data=2", 2), ("shard=2", 2), ("shard=2,tensor=2", 4), ("data=2,shard=2,tensor=2", 1)],
]
EXPERT = ShardingPlan(axes={**TENSOR, "expert": "data"})
"""Experts lie over the ranks that share the rows."""


def label(case: object) -> str:
    """A case's name in a report."""
    return str(case).replace(",", " x ") or "one process"


def check(mesh: str, microbatches: int, steps: int) -> None:
    """Every rank has the curve of one process, and computes its share of the products."""
    expected, found = alone("experts", steps), on("experts", mesh, steps, microbatches)

    assert {x.hashes for x in found} == {expected.hashes}
    share = max(x.flops for x in found) * mesh_of(mesh).size / expected.flops
    assert share <= (1.125 if "data=3" in mesh else 1.0) * 1.02


@pytest.mark.parametrize(("mesh", "microbatches"), SOME, ids=label)
def test_some_layouts_have_the_curve_of_one_process(mesh: str, microbatches: int):
    check(mesh, microbatches, STEPS)


def test_experts_over_the_ranks_of_the_rows_have_the_curve_of_one_process():
    """Each rank keeps its part of the experts' matrices, and of their averages."""
    mesh, config = mesh_of("data=2"), config_of("experts")

    def work(rank: int):
        step, model = made(config, mesh, rank, EXPERT)
        curve, _ = curve_from((step, model), batches(config, STEPS))
        weight = model.get_parameter("model.layers.0.mlp.experts.up_proj.weight")
        return curve.hashes, tuple(weight.shape), weight.to_local().shape[0]

    found = run_ranks(mesh, work, PATIENCE)

    assert set(found) == {(alone("experts", STEPS).hashes, (8, 64, 96), 4)}


@pytest.mark.proof(share=10)
@pytest.mark.parametrize(("mesh", "microbatches"), ALL, ids=label)
def test_all_layouts_have_the_curve_of_one_process(mesh: str, microbatches: int):
    check(mesh, microbatches, 20)
