"""Calls keep values for each other: the same results, and no product is computed twice."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float64
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import elementwise
from gnomon.ops.control_primitives import CONTROL, call, call_of, graphs_of
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.linalg import matmul
from gnomon.ops.primitives import reduce
from gnomon.passes.grad import pull_back
from gnomon.passes.inline import inline
from gnomon.passes.residuals import residuals
from gnomon.passes.trim import trim

pytestmark = pytest.mark.unit

WIDTH, ITERATIONS = 3, 4


def step(c, x, w):
    """A recurrence with a product, a costly function and cheap ones."""
    new = elementwise("tanh", matmul(c, w) + x)
    return [new * 0.5 + c, new]


def closed(shapes, f) -> Graph:
    """A graph over float64 inputs."""
    arena = Arena()
    leaves = [arena.input(shape, float64) for shape in shapes]
    return Graph(leaves, f(*leaves))


def loop_with_gradient() -> Graph:
    """A loop's rows, and the gradient of what they sum up to."""
    arena = Arena()
    c, xs, w = (arena.input(s, float64) for s in ((2, 3), (ITERATIONS, 2, 3), (3, 3)))
    body = closed([(2, 3), (2, 3), (3, 3)], step)
    last, rows = call(
        "scan_over", (c, xs, w), body=body, carried=1, sliced=1, length=ITERATIONS, reverse=False
    )
    return with_gradients([c, xs, w], [last, rows])


def choice_with_gradient() -> Graph:
    """A choice's results, and the gradient of what they sum up to."""
    arena = Arena()
    c, x, w = (arena.input(s, float64) for s in ((2, 3), (2, 3), (3, 3)))
    shapes = [(2, 3), (2, 3), (3, 3)]
    pred = elementwise("gt", total(x), 0.0)
    other = closed(shapes, lambda c, x, w: [elementwise("sin", matmul(c, w)), x])
    return with_gradients(
        [c, x, w], call("cond", (pred, c, x, w), then=closed(shapes, step), other=other)
    )


def total(x):
    """The sum of all elements."""
    for _ in x.shape:
        x = reduce("add", x, (0,))
    return x


def with_gradients(leaves, results) -> Graph:
    """Results, and gradients of the sum of their squares."""
    parts = pull_back({x: x for x in results}, leaves)
    return Graph(leaves, [*results, *parts])


def calls_in(graph: Graph) -> list:
    """One result of every call."""
    return list({call_of(x): x for x in graph.nodes if x.op in CONTROL}.values())


def products(graph: Graph) -> int:
    """How many products a graph has, inside its calls too."""
    inner = [g for x in calls_in(graph) for g in graphs_of(x.params).values()]
    return sum(x.op == "contract" for x in graph.nodes) + sum(map(products, inner))


def opened(graph: Graph) -> Graph:
    """Without regions."""
    return inline(graph, lambda node: False)


def arrays(graph: Graph, sign: float = 1.0):
    """Values of all inputs."""
    rng = np.random.default_rng(3)
    return [sign * abs(rng.standard_normal(x.shape)) for x in graph.inputs]


@pytest.mark.parametrize("make", [loop_with_gradient, choice_with_gradient])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_is_kept_has_the_same_value(make, sign):
    graph = opened(make())
    inputs = arrays(graph, sign)

    kept = trim(residuals(graph))

    for mine, theirs in zip(
        interpret_graph(kept, inputs), interpret_graph(graph, inputs), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_a_loop_and_its_gradient_are_two_loops_without_a_product_twice():
    graph = opened(loop_with_gradient())

    kept = trim(residuals(graph))

    assert (len(calls_in(graph)), products(graph)) == (3, 5)
    # forward: the product; backward: the gradients of its two factors
    assert (len(calls_in(kept)), products(kept)) == (2, 3)


def test_a_branch_keeps_its_products_for_its_gradient():
    graph = opened(choice_with_gradient())

    kept = trim(residuals(graph))

    assert (products(graph), products(kept)) == (8, 6)


def test_a_result_that_nobody_reads_is_not_computed():
    graph = opened(loop_with_gradient())

    alone = trim(residuals(Graph(graph.inputs, graph.outputs[:1])))

    (loop,) = calls_in(alone)
    assert len(loop.params["body"].outputs) == 1


def test_a_value_that_is_only_carried_for_itself_goes():
    arena = Arena()
    leaves = [arena.input((3,), float64) for _ in range(2)]
    body = closed([(3,), (3,)], lambda c, d: [c + 1.0, d * 2.0])
    made = call("scan_over", tuple(leaves), body=body, carried=2, sliced=0, length=2, reverse=False)

    (loop,) = calls_in(trim(Graph(leaves, made[:1])))

    assert loop.inputs == (loop.inputs[0],)
    assert loop.params["carried"] == 1


def test_a_value_that_turns_give_as_they_took_it_is_not_carried():
    arena = Arena()
    leaves = [arena.input((3,), float64) for _ in range(2)]
    body = closed([(3,), (3,)], lambda c, d: [c + d, d])
    made = call("scan_over", leaves, body=body, carried=2, sliced=0, length=3, reverse=False)
    graph = Graph(leaves, made)

    moved = trim(graph)

    (loop,) = calls_in(moved)
    assert loop.params["carried"] == 1
    assert moved.outputs[1] is moved.inputs[1]
    given = [np.arange(3.0), np.ones(3)]
    assert interpret_graph(moved, given)[0].tolist() == [3, 4, 5]
