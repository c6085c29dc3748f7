"""--plan expert=AXIS:tokens: tokens travel to experts, and the curve is that of one process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import pytest

from gnomon.distributed.mesh import ALONE, mesh_of
from gnomon.distributed.plans import ShardingPlan
from gnomon.distributed.ranks import run_ranks
from gnomon.distributed.token_dispatch.travel import TokenTravel
from gnomon.ir.node import Graph, Node
from gnomon.ops.collectives import COLLECTIVES
from gnomon.passes.divide import divide
from gnomon.train.rank_program import step_graph
from gnomon.train.team import read_plan
from tests.distributed.rank_programs import bytes_sent
from tests.train.curves import (
    EXPERTS,
    PATIENCE,
    ROWS,
    Curve,
    batches,
    config_of,
    curve,
    curve_from,
    made,
)

STEPS = 3
SIZES = EXPERTS["experts"]
WIDTH, INNER, MANY = SIZES["hidden_size"], SIZES["moe_intermediate_size"], SIZES["num_experts"]
BLOCKS, SLOTS = ROWS, 32 * SIZES["num_experts_per_tok"]
"""Blocks of a batch, and slots of a block."""


def plan_of(axis: str) -> ShardingPlan:
    """The plan that the command line names so."""
    return read_plan(Path(f"expert={axis}:tokens"))


@cache
def alone() -> Curve:
    """The curve of one process."""
    return curve(config_of("experts", layers=1), ALONE, STEPS)


def check(layout: str, axis: str, microbatches: int = 1, recompute: bool = False) -> None:
    """Every rank has the curve of one process, and multiplies what its places hold, no more."""
    config, mesh = config_of("experts", microbatches, 1, recompute), mesh_of(layout)

    def work(rank: int) -> tuple[Curve, int]:
        begun = made(config, mesh, plan_of(axis))
        found, _ = curve_from(begun, batches(config, STEPS))
        return found, min(begun[0].travel.measured, SLOTS)

    told = run_ranks(mesh, work, PATIENCE)
    assert {found.hashes for found, _ in told} == {alone().hashes}
    (places,) = {places for _, places in told}
    share = max(found.flops for found, _ in told) * mesh.size() / alone().flops
    again = 1.5 if recompute else 1.02
    assert share <= again * places * dict(mesh.axes)[axis] / SLOTS


def test_ranks_have_the_curve_of_one_process():
    check("data=2,tensor=2", "data")


def test_steps_that_have_no_place_for_all_are_taken_again_and_change_no_bit(monkeypatch):
    """Half of the places that a step needs, each time: what is sent has their size."""
    config, mesh, asked = config_of("experts", layers=1), mesh_of("data=2"), defaultdict(list)
    replayed = TokenTravel.replayed

    def heard(self: TokenTravel, step: Callable[[], Any], most_of: Callable[[Any], int]) -> Any:
        def counted() -> Any:
            asked[id(self)].append(self.capacity)
            return step()

        return replayed(self, counted, most_of)

    monkeypatch.setattr(TokenTravel, "replayed", heard)

    def work(rank: int) -> tuple[Curve, list[int], list[Graph]]:
        step, model = made(config, mesh, plan_of("data"))
        step.travel.load = 0.5
        found, _ = curve_from((step, model), batches(config, STEPS))
        assert not step.repetitions()
        programs = [x for each in step.programs.values() for x in each.captured()]
        return found, asked[id(step.travel)], [x.graph for x in programs]

    (found, places, graphs), *others = run_ranks(mesh, work, PATIENCE)
    assert {found.hashes, *(each.hashes for each, *_ in others)} == {alone().hashes}
    few = places[1]
    assert 0 < few < SLOTS
    assert places == [0, few, 0, few, 0]
    sent = [{x.shape[2] for x in divide(graph) if x.op == "all_to_all"} for graph in graphs]
    all_slots = {MANY // 2, SLOTS}
    assert sorted(sent, key=max) == [{MANY // 2, few}, all_slots, all_slots]


LAYOUTS = [
    *[("data=2", "data", 1), ("data=4", "data", 1), ("shard=2", "shard", 1), ("data=8", "data", 1)],
    *[("data=2,shard=2", "data", 1), ("data=2,shard=2", "shard", 1), ("data=2", "data", 2)],
    *[("shard=4,tensor=2", "shard", 1), ("data=2,shard=2,tensor=2", "shard", 2)],
]


@pytest.mark.proof
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_have_the_curve_of_one_process(layout):
    check(*layout)


@pytest.mark.proof
def test_recomputed_layers_have_it_too():
    check("data=2", "data", recompute=True)


def messages(layout: str, plan: ShardingPlan, axis: str) -> list[Node]:
    """What travels along a mesh axis in a step."""
    graph = divide(step_graph(config_of("experts", layers=1), mesh_of(layout), plan))
    return [x for x in graph if x.op in COLLECTIVES and x.params["mesh"] == axis]


def of_experts(message: Node) -> bool:
    """Whether lines of an expert's product are behind a message."""
    return any("mlp.experts" in str(site) for site in message.sites)


@pytest.mark.parametrize(
    ("layout", "axis", "ranks", "places"),
    [("data=4", "data", 4, 32), ("shard=2", "shard", 2, 64)],
)
def test_tokens_travel_and_no_matrix(layout: str, axis: str, ranks: int, places: int):
    """Of a layer rows go there and back, and their gradients; numbers of rows go there.

    A block of 96 slots has places for a quarter of the even load more.
    """
    told = plan_of(axis)
    plain, sent = (
        messages(layout, each, axis) for each in (replace(told, token_dispatch=()), told)
    )

    exchanged = [x for x in sent if x.op == "all_to_all"]
    rows, numbers = BLOCKS * places * WIDTH, BLOCKS * MANY // ranks
    assert sorted(x.size for x in exchanged) == [numbers, *[rows] * 4]
    assert not [x for x in plain if x.op == "all_to_all"]

    others = [x for x in sent if x.op != "all_to_all"]
    assert [x for x in plain if of_experts(x)]
    assert not [x for x in others if of_experts(x)]
    there_and_back = 2 * 3 * 4 * prod((MANY, WIDTH, INNER)) * (ranks - 1) // ranks
    assert sum(map(bytes_sent, plain)) - sum(map(bytes_sent, others)) >= there_and_back


@pytest.mark.parametrize(
    ("layout", "axis", "ranks"), [("data=4", "data", 4), ("shard=2", "shard", 2)]
)
def test_a_rank_has_its_part_of_the_experts(layout: str, axis: str, ranks: int):
    config, mesh = config_of("experts", layers=1), mesh_of(layout)

    def work(rank: int) -> int:
        _, model = made(config, mesh, plan_of(axis))
        experts = model.model.layers[0].mlp.experts.parameters()
        return sum(p.to_local().numel() for p in experts)

    assert run_ranks(mesh, work, PATIENCE) == [3 * MANY * WIDTH * INNER // ranks] * mesh.size()
