"""What iterations compute alike stands before the loop, with the same values."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import elementwise
from gnomon.ops.control_primitives import call
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.linalg import matmul
from gnomon.passes.hoist import hoist
from gnomon.passes.inline import inline
from tests.controls import arrays, calls_in, closed, halving, loop, nested, products, step

pytestmark = pytest.mark.unit


def opened(graph: Graph) -> Graph:
    """Without regions."""
    return inline(graph, lambda node: False)


def with_a_square() -> Graph:
    """A loop that multiplies its weights by themselves in every iteration of an inner loop."""
    arena = Arena()
    shapes = [(2, 3), (4, 2, 3), (3, 3)]
    leaves = [arena.input(s, float32) for s in shapes]

    def inner(c, x, w):
        body = closed([(2, 3), (3, 3)], lambda c, w: [matmul(c, matmul(w, w)) + 1.0])
        return call("scan_over", (c, w), body=body, carried=1, sliced=0, length=2, reverse=False)

    def iteration(c, x, w):
        return [*step(*inner(c, x, w), x, elementwise("exp", w))]

    body = closed([(2, 3), (2, 3), (3, 3)], iteration)
    return opened(
        Graph(
            leaves,
            call("scan_over", leaves, body=body, carried=1, sliced=1, length=4, reverse=False),
        )
    )


@pytest.mark.parametrize("make", [with_a_square, loop, nested, halving])
def test_values_are_the_same(make):
    graph = opened(make())
    given = arrays(graph)

    moved = interpret_graph(hoist(graph), given)

    for mine, theirs in zip(moved, interpret_graph(graph, given), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_work_on_constants_leaves_all_loops_around_it():
    graph = with_a_square()

    moved = hoist(graph)

    outside = [x for x in moved.nodes if x.op == "contract"]
    (one,) = calls_in(moved)
    assert len(outside) == 1
    assert products(moved) == products(graph) == 3
    assert not any(x.params.get("f") == "exp" for x in one.params["body"].nodes)


def test_a_graph_without_loops_stays_as_it_is():
    graph = closed([(3,)], lambda x: [x * 2.0])

    assert hoist(graph) is graph
