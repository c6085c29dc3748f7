"""Parts of one node: what lookups give for rows that are elsewhere, and whose numbers are whose."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.placements import REPLICATED, Split
from gnomon.passes.localize import Locals, local_params, mesh_axis_of
from gnomon.passes.strategies import Strategy, strategies
from tests.passes.on_ranks import across, by_strategy, run_local

pytestmark = pytest.mark.unit


def test_a_lookup_in_a_split_table_keeps_the_sign_of_zero():
    arena = Arena()
    table, index = arena.input((4, 2), float32, "table"), arena.input((3,), int64, "index")
    node = gather("vd,t->td", table, index)
    (lookup,) = [s for s in strategies(node, across()) if s.rule == "lookup"]
    rows = np.array([[1, -0.0], [0.0, -2], [-0.0, -0.0], [3, 0.0]], np.float32)
    places = np.array([2, 0, 3])

    made = run_local(by_strategy(node, lookup, across()), lookup.wanted, [rows, places], 2)

    assert [x.tobytes() for (x,) in made] == [rows[places].tobytes()] * 2


def test_every_rank_counts_its_own_stretch():
    arena = Arena()
    local = Locals(arena, across(3))
    graph = Graph([local.rank], [local.positions(2, int64)])

    made = run_local(graph, [], [], 3)

    assert [x.tolist() for (x,) in made] == [[0, 1], [2, 3], [4, 5]]
    assert mesh_axis_of(local.rank) == "a"


def test_a_replicated_value_is_cut_without_a_message():
    arena = Arena()
    local = Locals(arena, across())
    x = arena.input((2, 4), float32, "x")
    graph = Graph([x, local.rank], [local.move(x, REPLICATED, Split(1))])

    made = run_local(graph, [REPLICATED], [np.arange(8, dtype=np.float32).reshape(2, 4)], 2)

    assert [part.tolist() for (part,) in made] == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]


def test_a_share_of_a_sum_has_a_share_of_its_leaves():
    x = Arena().input((8, 3), float32, "x")
    node = x.arena.node("reduce", (x,), monoid="add", axis=0, leaves=8, lanes=False, dtype=float32)
    (cut,) = [s for s in strategies(node, across(4)) if s.wanted == (Split(0),)]

    assert local_params(node, cut, across(4)) == {"leaves": 2}
    assert local_params(node, cut, across(4, ordered=False)) == {"leaves": 1}
    assert local_params(node, Strategy((REPLICATED,), REPLICATED), across(4)) == {}
