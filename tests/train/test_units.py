"""Fully sharded training: when each layer's parameters are gathered, read and let go."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from gnomon.distributed import explain
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.mesh import mesh_of
from gnomon.distributed.plans import PLAN, ShardingPlan
from gnomon.distributed.ranks import run_ranks
from gnomon.distributed.report import UnitUse, repetitions, units_of
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.ops.layouts import place
from gnomon.ops.placements import REPLICATED
from gnomon.ops.primitives import contract
from gnomon.program.blocks import ProgramBlock
from gnomon.program.collectives import is_transfer, serves
from gnomon.program.liveness import values_of
from gnomon.runtime import events
from gnomon.train.config import Config
from gnomon.train.rank_program import rank_program, step_graph
from gnomon.train.step import TrainStep
from tests.train.curves import RATE, batches, config_of, made, stepped

LAYERS = 4
pytestmark = pytest.mark.unit


def asked(mesh: str, reductions: int | str) -> tuple[Config, DeviceMesh, ShardingPlan]:
    """What a step is made from."""
    plan = replace(PLAN, reductions=reductions)
    return config_of("six heads", layers=LAYERS), mesh_of(mesh), plan


@cache
def taken(mesh: str = "shard=2", reductions: int | str = 0) -> tuple[TrainStep, DecoderForCausalLM]:
    """The first rank's step, and its model, after two steps."""
    config, found, plan = asked(mesh, reductions)
    return run_ranks(found, lambda rank: stepped(config, found, 2, plan), 120.0)[0]


@cache
def block(mesh: str = "shard=2", reductions: int | str = 0) -> ProgramBlock:
    """The kernels of a step in order."""
    return rank_program(*asked(mesh, reductions))


def layers() -> list[UnitUse]:
    """The uses of what is gathered for layers."""
    return [use for use in units_of(block().parts) if use.unit]


def test_each_layer_is_gathered_for_each_pass_and_let_go():
    uses = Counter((use.unit, use.reader) for use in layers())

    assert uses == {(k, way): 1 for k in range(1, LAYERS + 1) for way in ("forward", "backward")}
    assert all(use.begun < use.first <= use.last for use in layers())


def test_at_most_two_layers_are_there_at_once():
    calls = range(len(block().parts))

    alive = [sum(use.begun <= call <= use.last for use in layers()) for call in calls]

    assert max(alive) == 2


def test_a_layer_has_two_gatherings_and_one_reduction():
    moves = Counter(
        part.nodes[0].params["of"]
        for part in block().parts
        if is_transfer(part) and not part.name.endswith(".wait")
    )

    # the table of words and the last norm are one unit more, whose gradients are one message:
    # those of the table for looking up and for scoring are scattered before they are added
    assert moves["all_gather"] == 2 * (LAYERS + 1)
    assert moves["reduce_scatter"] == LAYERS + 1


def under_way(found: ProgramBlock) -> int:
    """The most operands of reductions that the memory plan holds at once."""
    sent = {k.buffers[1] for k in found.parts if is_transfer(k) and serves(k, "fold_ranks")}
    alive = [v for v in values_of(found) if v.node in sent]
    return max(sum(v.first <= k <= v.last for v in alive) for k in range(len(found.parts)))


def test_no_more_reductions_than_the_plan_says_are_under_way():
    assert under_way(block("shard=2", 1)) == 1


def test_auto_takes_the_fewest_that_wait_no_longer():
    found = block("shard=2", "auto")
    number = under_way(found)

    assert [run.bound for run in found.bounds][:-1] == list(range(1, len(found.bounds)))
    best = next(run for run in found.bounds if run.stall <= found.bounds[-1].stall)
    assert number <= best.bound
    step, graph = taken("shard=2", "auto")[0], step_graph(*asked("shard=2", "auto"))
    assert step.captured.graph.key == graph.key
    assert str(best) in explain(step.program).splitlines()


def test_no_activation_is_sent():
    config = config_of("six heads")
    rows = config.train.batch_size // 2 * config.train.sequence_length
    moved = [x for part in block().parts if is_transfer(part) for x in part.nodes]

    assert all(x.inputs[0].shape[:2] != (config.train.batch_size // 2, rows) for x in moved)
    assert {x.params["of"] for x in moved} == {"all_gather", "all_reduce", "reduce_scatter"}


def test_the_page_of_a_step_says_so():
    step, _ = taken()
    told = explain(step.program).splitlines()

    assert any(line.startswith("unit 1, forward: ") and "then freed" in line for line in told)
    assert any(line.startswith("modelled: ") for line in told)


def test_what_ranks_repeat_is_told_and_public_layouts_repeat_nothing():
    assert taken()[0].repetitions() == []
    assert taken("tensor=2")[0].repetitions() == []

    arena = Arena()
    x, w = arena.input((5, 7), float32, "x"), arena.input((3, 7), float32, "w")
    whole = place(x, (("tensor", 2, REPLICATED),))
    (line,) = repetitions(Graph([x, w], [contract("bi,oi->bo", whole, w)]))
    told = "every rank along tensor computes contract: float32[5, 3], 100.0% of the products"
    assert line.startswith(told)
    assert "test_units.py" in line


@pytest.mark.parametrize("mesh", ["shard=2", "shard=2,tensor=2"])
def test_a_step_is_one_program_and_asks_for_no_whole_parameter(mesh: str):
    config, found = config_of("six heads"), mesh_of(mesh)

    def runs_of_a_third_step(rank: int) -> list[str]:
        step, _ = made(config, found)
        first, second, third = batches(config, 3)
        step(first, RATE)
        step(second, RATE)
        here, seen = threading.get_ident(), []

        def hear(kind: str, _: object) -> None:
            if threading.get_ident() == here and kind == "run":
                seen.append(kind)

        stop = events.subscribe(hear)
        try:
            step(third, RATE)
        finally:
            stop()
        return seen

    assert run_ranks(found, runs_of_a_third_step, 120.0) == [["run"]] * found.size()
