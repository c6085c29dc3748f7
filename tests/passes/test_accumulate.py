"""Microbatches: equal blocks of rows in microbatches, sums as a tree, the global count."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.control_primitives import executed
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.primitives import reduce
from gnomon.passes.accumulate import accumulate
from tests.gradients import gradients
from tests.graphs import seed_of

pytestmark = pytest.mark.unit


def mean_of_squares() -> Graph:
    """The mean of squared differences from a row, per-row losses, and the row's gradient."""
    arena = Arena()
    x, w = arena.input((8, 3), float32, "x"), arena.input((3,), float32, "w")
    away = x - w
    rows = reduce("add", away * away, (1,))
    loss = reduce("add", rows, (0,)) / 8.0
    return Graph([x, w], [loss, rows, *gradients(loss, seed_of(loss), [w])])


@pytest.mark.parametrize("microbatches", [1, 2, 4, 8])
def test_microbatches_change_no_value(microbatches):
    graph = mean_of_squares()
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, x.shape).astype(np.float32) for x in graph.inputs]

    repeated = accumulate(graph, [0, None], microbatches)

    for got, expected in zip(
        interpret_graph(repeated, arrays), interpret_graph(graph, arrays), strict=True
    ):
        np.testing.assert_array_equal(got, expected)
    assert [x.shape for x in repeated.inputs] == [(8, 3), (3,)]


def test_nothing_is_left_of_the_ranks():
    repeated = accumulate(mean_of_squares(), [0, None], 4)

    assert not [x for x, _ in executed(repeated) if x.op in COLLECTIVES]
    assert max(x.size for x, _ in executed(repeated) if x.op == "map") <= 8


def test_what_does_not_depend_on_the_microbatch_is_computed_once():
    arena = Arena()
    x, w = arena.input((4,), float32, "x"), arena.input((4,), float32, "w")
    shared = reduce("max", w * w, (0,))
    graph = Graph([x, w], [reduce("add", x * shared, (0,))])

    repeated = accumulate(graph, [0, None], 4)

    assert len([n for n in repeated if n.op == "reduce" and n.params["monoid"] == "max"]) == 1


def test_other_numbers_of_microbatches_are_refused():
    with pytest.raises(LayoutError, match="must be a power of two: got 3"):
        accumulate(mean_of_squares(), [0, None], 3)


def test_rows_that_microbatches_do_not_divide_are_refused():
    with pytest.raises(LayoutError, match=r"x \(8, 3\) cannot be S\(0\): 16 ranks"):
        accumulate(mean_of_squares(), [0, None], 16)
