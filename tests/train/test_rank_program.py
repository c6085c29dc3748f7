"""One rank's program from shapes alone is the one that training runs."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.mesh import ALONE, mesh_of
from gnomon.distributed.ranks import run_ranks
from gnomon.ir import node
from gnomon.ir.node import Graph
from gnomon.ops.layouts import LAYOUTS
from gnomon.passes import choose
from gnomon.passes.divide import divide
from gnomon.program.assembly import plan_of
from gnomon.program.collectives import is_transfer
from gnomon.settings import override
from gnomon.train.rank_program import rank_program, step_graph
from gnomon.train.recipes import configure
from tests.train.curves import config_of, stepped

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("mesh", ["", "shard=2", "data=2,tensor=2"])
def test_it_is_the_program_of_a_step(mesh: str):
    config, found = config_of("six heads"), mesh_of(mesh)
    steps = run_ranks(found, lambda rank: stepped(config, found, 1)[0], 120.0)

    assert step_graph(config, found).key == steps[0].captured.graph.key


def test_a_world_of_thousands_of_ranks_has_a_program():
    sizes = ["model.hidden_size=1024", "model.num_hidden_layers=1", "train.batch_size=8192"]
    config = configure("tiny", sizes)
    with override(numerics="fast"):
        parts = rank_program(config, mesh_of("data=16,shard=512")).parts

    gathered = [x for p in parts if is_transfer(p) for x in p.nodes if "phase" in x.params]
    assert gathered
    assert all(x.params["ranks"] == 512 for x in gathered)
    assert not any(map(is_transfer, rank_program(config, ALONE).parts))


def deep(layers: int, mesh: str) -> Graph:
    """A step of so many layers."""
    return step_graph(configure("tiny", [f"model.num_hidden_layers={layers}"]), mesh_of(mesh))


def test_layers_after_the_first_ones_need_no_strategy_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
):
    asked: list[object] = []
    strategies = choose.strategies
    monkeypatch.setattr(
        choose, "strategies", lambda node, across: asked.append(node) or strategies(node, across)
    )

    divide(deep(3, "data=2,tensor=2"))
    asked.clear()
    divide(deep(6, "data=2,tensor=2"))

    # what stacks a number of each parameter has another shape
    assert len([x for x in asked if x.op not in LAYOUTS]) < 8


@pytest.mark.parametrize("mesh", ["data=2,shard=2,tensor=2", "data=3"])
def test_what_is_known_of_rebuilt_nodes_is_what_their_operations_say(
    mesh: str, monkeypatch: pytest.MonkeyPatch
):
    graph = deep(2, mesh)
    made = divide(graph)
    monkeypatch.setattr(node, "have_shapes_of", lambda some, others: False)
    anew = divide(graph)

    assert made.key == anew.key
    assert [(x.shape, x.dtype) for x in made] == [(x.shape, x.dtype) for x in anew]


def calls_in(function: Callable[[], object]) -> int:
    """The Python calls that a function makes."""
    count = 0

    def hook(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def test_work_grows_as_layers_do():
    graphs = {layers: deep(layers, "data=2") for layers in (1, 2, 4)}
    kernels_of(graphs[4], context())  # what they have in common is known
    few, some, many = (
        calls_in(lambda graph=graph: plan_of(kernels_of(graph, context())))
        for graph in graphs.values()
    )

    assert (many - some) / (some - few) < 2.4
