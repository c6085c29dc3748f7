"""Ranks whose programs have one structure start transfers in one order, whatever their sizes."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.compiler import pipeline, target
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node, topological
from gnomon.ir.operators import elementwise
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.layouts import MeshLayout, OwnRows, Unit, from_local, to_local
from gnomon.ops.linalg import linear
from gnomon.ops.placements import Split
from gnomon.ops.primitives import contract
from gnomon.passes.divide import divide
from gnomon.passes.start_order import has_own_rows, in_start_order
from gnomon.program.collectives import WAIT, is_transfer
from tests.gradients import gradients
from tests.graphs import seed_of

pytestmark = pytest.mark.unit

RANKS = 2
SEEDS = range(5)
ROWS: MeshLayout = (("shard", RANKS, Split(0)),)


def step(rows: int, layers: list[tuple[int, int, str]], own: bool = True) -> Graph:
    """A rank's rows through layers, a unit each, and the parts of the layers' gradients.

    Each layer: its width and its inner width, and whether what is inside is gated or scaled.
    """
    arena, axes = Arena(), OwnRows(("shard",) if own else ())
    x = arena.input((rows, layers[0][0]), float32, "x")
    given: list[Node] = []
    whole: list[Node] = []
    units: list[Unit] = []

    def parameter(unit: int, *shape: int) -> Node:
        given.append(arena.input((shape[0] // RANKS, *shape[1:]), float32, "p"))
        units.append(Unit(unit))
        whole.append(from_local(given[-1], ROWS, (), units[-1]))
        return whole[-1]

    y = from_local(x, ROWS, rows=axes)
    for unit, (width, inner, kind) in enumerate(layers):
        h = elementwise("tanh", linear(y, parameter(unit, inner, width), parameter(unit, inner)))
        if kind == "gated":
            h = h * linear(y, parameter(unit, inner, width))
        elif kind == "scaled":
            h = h * parameter(unit, inner)
        y = y + linear(h, parameter(unit, width, inner), parameter(unit, width))
    part = to_local(y * y, ROWS, rows=axes)
    found = gradients(part, seed_of(part), whole)
    parts = [to_local(g, ROWS, unit) for g, unit in zip(found, units, strict=True)]
    return Graph([x, *given], [part, *parts])


def started(graph: Graph) -> list[tuple[str, int, tuple[int, ...]]]:
    """The transfers of a program in the order in which they start."""
    calls = pipeline.kernels_of(divide(graph), target.context()).kernels()
    starts = [k for k in calls if is_transfer(k) and not k.name.endswith(WAIT)]
    return [(k.name, k.nodes[0].params["unit"].number, k.numbers) for k in starts]


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_transfers_does_not_follow_from_how_many_rows_a_rank_has(seed: int):
    rng = np.random.default_rng(seed)
    width = 2 * int(rng.integers(1, 40))
    kinds = [str(kind) for kind in rng.choice(["", "gated", "scaled"], rng.integers(2, 5))]
    layers = [(width, 2 * int(rng.integers(1, 80)), kind) for kind in kinds]

    orders = [started(step(rows, layers)) for rows in (1, 3, 16, 200)]

    assert orders[1:] == orders[:-1]


def test_gradients_are_sent_while_others_are_computed():
    order = [(name, unit) for name, unit, _ in started(step(3, [(8, 8, "")] * 8))]

    gathers = [unit for name, unit in order if name == "all_gather"]
    assert gathers == [*range(8), *range(7, -1, -1)]
    assert [unit for name, unit in order if name == "reduce_scatter"] == [*range(7, -1, -1)]
    # parameters are asked for while gradients are sent
    assert order.index(("reduce_scatter", 7)) < order.index(("all_gather", 4), 8)


def test_each_collective_comes_after_the_one_before_it():
    local = divide(step(3, [(8, 8, "gated")] * 2))

    met = [node for node in local if node.op in COLLECTIVES]
    assert [node.inputs[1:] for node in met] == [(), *((x,) for x in met[:-1])]
    assert in_start_order(local).key == local.key


def test_programs_whose_ranks_have_alike_sizes_are_timed_by_these():
    graph = step(4, [(8, 8, "gated")] * 2, own=False)

    assert not has_own_rows(graph)
    assert all(len(x.inputs) == 1 for x in divide(graph) if x.op in COLLECTIVES)


def product_of_parts(is_known: bool) -> Graph:
    """Columns, which are a local product or known before, times rows."""
    arena = Arena()
    x = arena.input((8, 4), float32, "x")
    columns = x if is_known else linear(x, arena.input((4, 4), float32, "w"))
    rows = from_local(arena.input((4, 8), float32, "rows"), (("shard", RANKS, Split(0)),))
    whole = contract("mk,kn->mn", from_local(columns, (("shard", RANKS, Split(1)),)), rows)
    return Graph([x, *(y for y in topological([whole]) if y.op == "input" and y is not x)], [whole])


def test_what_a_rank_knows_before_leaves_the_order_of_messages_alone():
    graphs = [divide(product_of_parts(known), ranks_differ=True) for known in (False, True)]

    first, second = ([x.op for x in graph if x.op in COLLECTIVES] for graph in graphs)
    assert first == second
    assert len(first) > 1
    assert all(in_start_order(graph, True).key == graph.key for graph in graphs)
