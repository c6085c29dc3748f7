"""Forecasts: the line through two shallow models meets the deep one, and memory is what it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.distributed.mesh import mesh_of
from gnomon.distributed.ranks import run_ranks
from gnomon.program.assembly import plan_of
from gnomon.tensor.layouts import layout_of, local_of
from gnomon.train.chips import CHIPS
from gnomon.train.config import Config
from gnomon.train.forecast import COARSE, forecast, forecast_of
from gnomon.train.rank_program import rank_program
from tests.train.curves import config_of, stepped

pytestmark = pytest.mark.unit

CHIP = CHIPS["h100"]


def of_layers(count: int) -> Config:
    """A configuration of so many layers."""
    config = config_of("six heads")
    return replace(config, model=replace(config.model, num_hidden_layers=count))


@pytest.mark.parametrize("mesh", ["data=2,tensor=2", "data=2,shard=4"])
def test_twelve_layers_lie_on_the_line_through_two_others(mesh: str):
    deep, found = of_layers(12), mesh_of(mesh)
    told = forecast(deep, found, CHIP)
    whole = forecast_of(rank_program(deep, found), found, CHIP)

    assert told.sent == whole.sent
    assert told.held == whole.held
    # reductions under way take memory, and how many there are is no line
    assert told.memory == pytest.approx(whole.memory, rel=0.02)
    assert told.flops == pytest.approx(whole.flops, rel=1e-6)
    assert told.seconds == pytest.approx(whole.seconds, rel=0.01)


def test_a_model_that_is_not_deeper_is_built():
    for layers in COARSE:
        config, mesh = of_layers(layers), mesh_of("data=2")
        assert forecast(config, mesh, CHIP, depths=COARSE) == forecast_of(
            rank_program(config, mesh), mesh, CHIP
        )


def test_memory_is_that_of_the_real_plan_on_four_ranks():
    config, mesh = of_layers(2), mesh_of("shard=2,tensor=2")
    told = forecast(config, mesh, CHIP)
    step, model = run_ranks(mesh, lambda rank: stepped(config, mesh, 1), 120.0)[0]
    parts = [local_of(p) if layout_of(p) else p for p in model.parameters()]
    # a parameter, its gradient and two averages; tokens and numbers beside them
    kept = 4 * sum(4 * p.numel() for p in parts)

    assert kept <= told.held <= 1.02 * kept
    real = step.captured.executable.memory
    assert max(told.peaks) == real.total == plan_of(rank_program(config, mesh)).memory.total


def test_the_clock_knows_the_chip():
    config, mesh = of_layers(1), mesh_of("data=16")
    fast, slow = (replace(CHIP, between=rate) for rate in (1e12, 1e8))

    told, late = forecast(config, mesh, fast), forecast(config, mesh, slow)
    assert late.seconds > 2 * told.seconds
    assert late.waiting > told.waiting
    assert late.sent == told.sent
    assert late.memory == told.memory
