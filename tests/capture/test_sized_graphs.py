"""Graphs on symbols, at the sizes that they are asked for."""

from __future__ import annotations

import pytest

from gnomon.capture.compile_options import CompileOptions
from gnomon.capture.sized_graphs import SizedGraph, near
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import elementwise
from gnomon.ir.sizes import ShapeEnv

pytestmark = pytest.mark.unit


def doubled(*first: int) -> SizedGraph:
    """Two rows of a size that varies, times 2."""
    env, arena = ShapeEnv(), Arena()
    for n in first:
        env.symbol(n)
    x = arena.input((2, env.symbol(5)), float32)
    return SizedGraph(env, Graph([x], [elementwise("mul", x, 2)]))


def test_a_graph_is_made_for_sizes():
    made = doubled()

    assert [x.shape for x in made.graph((7,)).outputs] == [(2, 7)]
    assert [x.shape for x in made.leaves((9,))] == [(2, 9)]


def test_one_program_serves_many():
    made = doubled()
    asked = CompileOptions(), "doubled", (), ()
    tiers = [made.tiers((n,), *asked) for n in (5, 12, 31)]

    assert [x.now.executable.fresh > 0 for x in tiers][1:] == [False, False]
    assert [x.shape for x in tiers[2].graph.outputs] == [x.shape for x in made.form.outputs]


def test_names_of_symbols_do_not_tell_apart_what_they_are():
    assert doubled().key == doubled().key
    assert doubled().key != doubled(3).key


def test_sizes_nearby():
    assert near((5, 3), -2) == (3, 2)
