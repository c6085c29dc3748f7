"""Every region that a kernel claims, divided in every way: the bits of the whole, and its name."""

from __future__ import annotations

from collections import Counter
from functools import cache

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.ir.node import Graph
from gnomon.ops.control_primitives import executed
from gnomon.ops.placements import REPLICATED, Placement, Split
from gnomon.passes.accumulate import accumulate
from gnomon.passes.choose import product_flops
from gnomon.passes.layout import can_be_split
from gnomon.passes.shard import Sharded, open_up, shard
from tests.compiled import program
from tests.distributed.rank_programs import compiled
from tests.passes.on_ranks import across, held_by
from tests.passes.regions import PROGRAMS, Made, claimed

ROWS, CLASSES = 64, 512


@cache
def whole(name: str) -> tuple[Made, list[np.ndarray]]:
    """A program, its inputs, and what one process gives."""
    graph, arrays = PROGRAMS[name][0]()
    return (graph, arrays), compiled(graph, arrays)


def ways(name: str, ranks: int) -> list[tuple[int, int]]:
    """Every input and axis that ranks divide."""
    graph = whole(name)[0][0]
    return [
        (k, axis)
        for k, x in enumerate(graph.inputs)
        for axis in range(x.rank)
        if can_be_split(x.shape, Split(axis), ranks)
    ]


def regions(graph: Graph) -> Counter[str]:
    """How often each claimed region occurs."""
    return Counter(x.params["name"] for x in graph if x.op == "region")


def joined(parts: list[np.ndarray], placement: Placement) -> np.ndarray:
    """A value from what ranks hold of it."""
    return np.concatenate(parts, placement.axis) if isinstance(placement, Split) else parts[-1]


def split_regions(opened: Graph, local: Sharded) -> set[str]:
    """The names of regions that every rank computes, though some operand of theirs is split."""
    plan = local.plan
    return {
        x.params["name"]
        for x in opened
        if x.op == "region"
        and plan[x].given == REPLICATED
        and any(plan[y].given != REPLICATED for y in x.inputs)
    }


def test_every_region_is_in_some_program():
    assert {name for _, names in PROGRAMS.values() for name in names} == claimed()


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_division_has_the_bits_of_the_whole_and_keeps_the_region(name, ranks):
    (graph, arrays), expected = whole(name)
    mesh, opened = DeviceMesh.of({"a": ranks}), open_up(graph)
    for number, axis in ways(name, ranks):
        lying = [Split(axis) if k == number else REPLICATED for k in range(len(graph.inputs))]
        local = shard(opened, across(ranks), lying, [None] * len(graph.outputs))

        def one(rank: int, local=local, lying=lying):
            held = [held_by(rank, ranks, p, x) for p, x in zip(lying, arrays, strict=True)]
            return compiled(local.graph, held)

        made = run_ranks(mesh, one)

        assert regions(local.graph) == regions(opened), (number, axis)
        assert set(PROGRAMS[name][1]) <= {*regions(local.graph)}
        assert not split_regions(opened, local)
        for k, (y, placement) in enumerate(zip(expected, local.outputs, strict=True)):
            got = joined([parts[k] for parts in made], placement)
            assert got.tobytes() == y.tobytes(), (number, axis, k)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_kernels_of_a_part_bear_the_names_of_the_whole(name):
    (graph, _), _ = whole(name)
    number, axis = ways(name, 2)[0]
    lying = [Split(axis) if k == number else REPLICATED for k in range(len(graph.inputs))]
    local = shard(open_up(graph), across(2), lying, [None] * len(graph.outputs)).graph

    kernels = list(program(local).kernels)

    claims = {x for x in PROGRAMS[name][1] if not x.startswith("logit")}
    assert claims <= {kernel.name for kernel in kernels}
    # of losses no kernel writes all logits of a part
    most = ROWS * CLASSES // 2 if "loss" in name else 1 << 40
    assert max(x.size for kernel in kernels for x in kernel.buffers[: kernel.outputs]) < most


@pytest.mark.parametrize("microbatches", [2, 4])
@pytest.mark.parametrize("name", PROGRAMS)
def test_microbatches_have_the_bits_of_the_whole_and_keep_the_region(name, microbatches):
    (graph, arrays), expected = whole(name)
    for number, axis in ways(name, microbatches):
        rows = [axis if k == number else None for k in range(len(graph.inputs))]

        looped = accumulate(graph, rows, microbatches)

        kept = {x.params["name"] for x, _ in executed(looped) if x.op == "region"}
        assert set(PROGRAMS[name][1]) <= kept
        for y, got in zip(expected, compiled(looped, arrays), strict=True):
            assert got.tobytes() == y.tobytes(), (number, axis)


def test_a_share_of_flops_is_a_turns(rng):
    (graph, _), _ = whole("rows of groups")
    rows = [0, None, None, 0]

    for count in (2, 4):
        looped = accumulate(graph, rows, count)

        found = sum(product_flops(x) * times for x, times in executed(looped))
        assert found == sum(map(product_flops, open_up(graph)))
