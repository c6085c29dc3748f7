"""One curve: any mesh gives, at every step, the bits of one process (T1 of the promise).

A few steps on some layouts run always; a hundred on all of them, and ten of another model, carry
the marker `proof`.
"""

from __future__ import annotations

from math import ceil, prod

import pytest

from gnomon.distributed.mesh import mesh_of
from gnomon.ops.canonical import ROWS as RULE
from gnomon.ops.canonical import leaves
from gnomon.settings import override
from tests.train.curves import MODELS, ROWS, alone, on, restarted

SOME = [("shard=2,tensor=2", 1), ("data=2,tensor=2", 2), ("tensor=4", 1), ("data=3", 1)]
ALL = [
    *[(f"data={n}", 1) for n in (2, 3, 4, 5, 6, 8)],
    *[(f"shard={n}", 1) for n in (2, 4)],
    *[(f"tensor={n}", 1) for n in (2, 4)],
    ("data=2,tensor=2", 1),
    ("data=4,tensor=2", 1),
    ("data=3,tensor=2", 1),
    ("data=2,shard=2", 1),
    ("shard=2,tensor=2", 1),
    ("data=2,shard=2,tensor=2", 1),
    ("data=2,tensor=4", 1),
    ("", 2),
    ("", 4),
    ("data=2", 2),
    ("data=2", 4),
    ("shard=2", 2),
    ("tensor=2", 4),
    ("shard=2,tensor=2", 2),
]
STEPS = 3
LONG = {"six heads": 100, "one key head": 10}


def label(case: object) -> str:
    """A case's name in a report."""
    return str(case).replace(",", " x ") or "one process"


def check(model: str, mesh: str, microbatches: int, steps: int) -> None:
    """Every rank has the curve of one process, and computes no more than its share."""
    expected, found = alone(model, steps), on(model, mesh, steps, microbatches)

    assert {x.hashes for x in found} == {expected.hashes}
    share = max(x.flops for x in found) * mesh_of(mesh).size() / expected.flops
    print(f"{model}, {label(mesh)}, {microbatches} microbatches: {share:.3f} of a share's flops")
    assert share <= most_of(mesh, MODELS[model]["num_attention_heads"]) * 1.02


def most_of(mesh: str, heads: int) -> float:
    """What the largest share of rows and heads is of an equal one."""
    axes = dict(mesh_of(mesh).axes)
    counts = ((leaves(ROWS, RULE), axes.get("data", 1)), (heads, axes.get("tensor", 1)))
    return prod(ceil(count / ranks) * ranks / count for count, ranks in counts)


@pytest.mark.parametrize(("mesh", "microbatches"), SOME, ids=label)
def test_some_layouts_have_the_curve_of_one_process(mesh: str, microbatches: int):
    check("six heads", mesh, microbatches, STEPS)


def test_a_run_that_goes_on_with_fewer_ranks_computes_no_more_than_its_share():
    """The flops of each life of an elastic run, whose curve is one process's all the way."""
    meshes, model = ["data=4", "data=3", "shard=2", ""], "six heads"
    expected = alone(model, len(meshes))

    lives = restarted(model, meshes, 1)

    assert [{x.hashes for x in ranks} for ranks in lives] == [{(x,)} for x in expected.hashes]
    for mesh, ranks in zip(meshes, lives, strict=True):
        share = max(x.flops for x in ranks) * mesh_of(mesh).size() / expected.flops
        print(f"after a restart with {label(mesh)}: {share:.3f} of a share's flops")
        assert share <= most_of(mesh, MODELS[model]["num_attention_heads"]) * 1.02


@pytest.mark.proof
@pytest.mark.share(10)
@pytest.mark.parametrize("model", MODELS, ids=label)
@pytest.mark.parametrize(("mesh", "microbatches"), ALL, ids=label)
def test_all_layouts_have_the_curve_of_one_process(model: str, mesh: str, microbatches: int):
    check(model, mesh, microbatches, LONG[model])


@pytest.mark.long
def test_without_canonical_order_half_of_the_layouts_have_other_curves():
    with override(numerics="fast"):
        expected = alone.__wrapped__("six heads", STEPS)
        others = [mesh for mesh, count in ALL if count == 1]
        found = [on("six heads", mesh, STEPS)[0].hashes for mesh in others]

    assert sum(x != expected.hashes for x in found) >= len(others) / 2
