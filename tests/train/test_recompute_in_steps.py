"""A step that computes layers again has the curve of one that keeps all, in less memory."""

from __future__ import annotations

import pytest

from gnomon.distributed.mesh import ALONE, mesh_of
from gnomon.distributed.ranks import run_ranks
from tests.train.curves import PATIENCE, alone, batches, config_of, curve, curve_from, made


@pytest.mark.parametrize("model", ["six heads", "experts"])
def test_the_curve_is_the_same_and_the_memory_plan_is_smaller(model: str):
    kept, again = (config_of(model, layers=4, recompute=x) for x in (False, True))
    steps = {x: made(config, ALONE) for x, config in (("kept", kept), ("again", again))}
    curves = {x: curve_from(step, batches(kept, 2))[0].hashes for x, step in steps.items()}
    needs = {x: step.captured.executable.memory.total for x, (step, _) in steps.items()}

    assert curves["again"] == curves["kept"]
    assert needs["again"] < needs["kept"] * 0.85


def test_routers_choose_once():
    kept, again = (made(config_of("experts", recompute=x), ALONE)[0] for x in (False, True))
    for step in (kept, again):
        for window in batches(config_of("experts"), 1):
            step(window, 1e-3)

    def sorts(step) -> int:
        return sum(x.op == "sort" for k in step.captured.executable.kernels for x in k.nodes)

    # of each of two layers: the experts of tokens, the order of their slots, and the way back
    assert sorts(kept) == sorts(again) >= 2 * 3


def test_with_microbatches_and_ranks_too():
    config = config_of("experts", 2, recompute=True)

    found = run_ranks(mesh_of("data=2"), lambda r: curve(config, mesh_of("data=2"), 2), PATIENCE)

    assert {x.hashes for x in found} == {alone("experts", 2).hashes}
