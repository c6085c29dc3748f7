"""A program that says how its values lie becomes one rank's."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.control_primitives import executed
from gnomon.ops.layouts import from_local, place, to_local
from gnomon.ops.placements import REPLICATED, Split
from gnomon.ops.primitives import contract
from gnomon.passes.accumulate import rows_over
from gnomon.passes.divide import divide, mesh_axes
from tests.distributed.rank_programs import compiled

pytestmark = pytest.mark.unit

ROWS = (("data", 2, Split(0)),)
GRID = (("data", 2, Split(0)), ("tensor", 2, Split(1)))


def gradient_of_rows(layout) -> Graph:
    """The gradient of a weight: a sum over rows that each rank has a part of."""
    arena = Arena()
    x, g = arena.input((8, 4), float32, "x"), arena.input((8, 3), float32, "g")
    everywhere = tuple((name, ranks, REPLICATED) for name, ranks, _ in layout)
    part = from_local(to_local(x, layout), layout)
    return Graph([x, g], [contract("bi,bo->io", part, from_local(g, everywhere))])


def test_a_program_of_one_process_stays_as_it_is():
    x = Arena().input((4,), float32, "x")
    graph = Graph([x], [x + x])

    assert divide(graph) is graph
    assert mesh_axes(graph) == {}


def test_a_sum_over_split_rows_is_reduced():
    local = divide(gradient_of_rows(ROWS))

    assert [x.op for x in local if x.op in COLLECTIVES] == ["all_reduce"]
    assert [x.params["name"] for x in local.inputs] == ["x", "g", "rank:data"]
    assert not [x for x in local if x.op in ("from_local", "to_local")]


@pytest.mark.parametrize(
    ("layout", "mesh"), [(ROWS, {"data": 2}), (GRID, {"data": 2, "tensor": 2})]
)
def test_ranks_have_the_bits_of_one_process(layout, mesh, rng: np.random.Generator):
    arrays = [rng.standard_normal(x.shape).astype(np.float32) for x in gradient_of_rows(()).inputs]
    (alone,) = compiled(gradient_of_rows(()), arrays)
    graph = gradient_of_rows(layout)

    mesh = DeviceMesh.of(tuple((name, ranks) for name, ranks, _ in layout))

    found = run_ranks(mesh, lambda rank: compiled(graph, arrays)[0])

    assert {x.tobytes() for x in found} == {alone.tobytes()}


def test_parts_come_in_and_go_out_as_they_lie(rng: np.random.Generator):
    arena = Arena()
    x = arena.input((2, 3), float32, "x")
    whole = from_local(x, ROWS)
    graph = Graph([x], [to_local(whole * 2.0, ROWS), whole])
    array = rng.standard_normal((4, 3)).astype(np.float32)

    found = run_ranks(
        DeviceMesh.of({"data": 2}),
        lambda rank: compiled(graph, [array[2 * rank : 2 * rank + 2]]),
    )

    assert np.array_equal(np.concatenate([part for part, _ in found]), array * 2)
    assert all(np.array_equal(seen, array) for _, seen in found)


@pytest.mark.parametrize("microbatches", [2, 4])
def test_microbatches_are_added_before_ranks_in_one_message(microbatches, rng):
    arena = Arena()
    x, g = arena.input((16, 4), float32, "x"), arena.input((16, 3), float32, "g")
    rows = [place(from_local(to_local(v, ROWS), ROWS), rows_over(microbatches)) for v in (x, g)]
    graph = Graph([x, g], [contract("bi,bo->io", *rows)])
    whole = Graph([x, g], [contract("bi,bo->io", x, g)])
    arrays = [rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs]

    local = divide(graph)
    found = run_ranks(DeviceMesh.of({"data": 2}), lambda rank: compiled(graph, arrays)[0])

    assert {x.tobytes() for x in found} == {compiled(whole, arrays)[0].tobytes()}
    met = [(x.op, times) for x, times in executed(local) if x.op in COLLECTIVES]
    assert met == [("all_reduce", 1)]
    products = [times for x, times in executed(local) if x.op == "contract"]
    assert products == [microbatches]
