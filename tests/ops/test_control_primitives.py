"""Choices and loops by the interpreter: values, slopes, and graphs that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float64
from gnomon.errors import GradientError, ShapeError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.control_primitives import call, call_of, graphs_of, with_graphs
from gnomon.ops.primitives import reduce
from tests.graphs import check_gradient, value


def graph(kinds, f) -> Graph:
    """A graph over float64 inputs of these shapes."""
    arena = Arena()
    leaves = [arena.input(shape, float64) for shape in kinds]
    return Graph(leaves, f(*leaves))


def branches(x: Node, y: Node) -> list[Node]:
    """A choice by the sum of x: products or sums, and x itself."""
    shapes = [x.shape, y.shape]
    then = graph(shapes, lambda x, y: [x * y, x])
    other = graph(shapes, lambda x, y: [x + x, x * 3.0])
    pred = elementwise("gt", reduce("add", x, (0,)), 0.0)
    return call("cond", (pred, x, y), then=then, other=other)


def iterations(c: Node, xs: Node, w: Node, reverse: bool = False) -> list[Node]:
    """A loop whose rows show what it carries."""

    def body(c, x, w):
        new = elementwise("tanh", c * w + x)
        return [new, new * x]

    made = graph([c.shape, xs.shape[1:], w.shape], body)
    return call(
        "scan_over", (c, xs, w), body=made, carried=1, sliced=1, length=xs.shape[0], reverse=reverse
    )


def halved(x: Node) -> list[Node]:
    """Halved while its sum is above one."""
    test = graph([x.shape], lambda x: [elementwise("gt", reduce("add", x, (0,)), 1.0)])
    return call("while", (x,), test=test, body=graph([x.shape], lambda x: [x * 0.5]), carried=1)


X = np.array([0.5, 0.25, 2.0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_choice_takes_one_branch(sign):
    made = value(lambda x, y: branches(x, y)[0], sign * X, X)

    np.testing.assert_array_equal(made, X * X if sign > 0 else -2 * X)


def test_a_loop_runs_while_its_test_holds():
    np.testing.assert_array_equal(value(lambda x: halved(x)[0], X), X / 4)
    np.testing.assert_array_equal(value(lambda x: halved(x)[0], -X), -X)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_over_slices_gives_the_last_values_and_rows(reverse):
    xs, w = np.arange(6.0).reshape(2, 3) / 4, np.array([0.3, 0.2, 0.1])
    c, rows = X, np.zeros_like(xs)
    for k in (1, 0) if reverse else (0, 1):
        c = np.tanh(c * w + xs[k])
        rows[k] = c * xs[k]

    last = value(lambda *a: iterations(*a, reverse)[0], X, xs, w)
    made = value(lambda *a: iterations(*a, reverse)[1], X, xs, w)

    np.testing.assert_allclose(last, c)
    np.testing.assert_allclose(made, rows)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_slope_of_a_choice_is_that_of_the_branch(sign):
    check_gradient(lambda x, y: branches(x, y)[0] + branches(x, y)[1], sign * X, X)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [1, 4])
def test_the_slope_of_a_loop_over_slices(length, reverse):
    xs = np.cos(np.arange(3.0 * length)).reshape(length, 3)

    def both(c, xs, w):
        last, rows = iterations(c, xs, w, reverse)
        return last * 2.0 + reduce("add", rows, (0,))

    check_gradient(both, X, xs, np.array([0.3, 0.2, 0.1]))


def test_the_slope_of_a_loop_whose_rows_alone_are_read():
    check_gradient(lambda *a: iterations(*a)[1], X, np.ones((3, 3)), np.array([0.3, 0.2, 0.1]))


def test_a_loop_inside_a_choice_inside_a_loop_has_a_slope():
    def inner(c, x):
        return iterations(c, spread(c, x), x)[:1]

    def spread(c, x):
        arena = c.arena
        return arena.node("expand", (arena.node("reshape", (c * x,), shape=(1, 3)),), shape=(2, 3))

    def body(c, x):
        shapes = [(3,), (3,)]
        pred = elementwise("gt", reduce("add", x, (0,)), 0.0)
        then, other = graph(shapes, inner), graph(shapes, lambda c, x: [c * 0.5 + x])
        (new,) = call("cond", (pred, c, x), then=then, other=other)
        return [new]

    def outer(c, xs):
        made = graph([(3,), (3,)], body)
        return call(
            "scan_over", (c, xs), body=made, carried=1, sliced=1, length=xs.shape[0], reverse=False
        )[0]

    check_gradient(outer, X, np.array([[0.5, 0.2, 0.1], [-0.3, -0.4, 0.2], [0.1, 0.2, 0.3]]))


def test_a_loop_without_a_bound_has_no_slope():
    with pytest.raises(GradientError, match="max_iterations"):
        check_gradient(lambda x: halved(x)[0], X)


def test_results_of_one_call_know_each_other():
    arena = Arena()
    c, xs, w = (arena.input(s, float64) for s in ((3,), (2, 3), (3,)))
    last, rows = iterations(c, xs, w)
    (other, _) = iterations(c, xs, w, reverse=True)

    assert call_of(last) == call_of(rows) != call_of(other)
    assert list(graphs_of(last.params)) == ["body"]
    assert with_graphs(last.params, lambda g: g)["index"] == 0


def test_graphs_that_do_not_fit_are_refused():
    arena = Arena()
    x = arena.input((3,), float64)
    test = graph([(3,)], lambda x: [x])

    with pytest.raises(ShapeError, match="while"):
        call("while", (x,), test=test, body=test, carried=1)
