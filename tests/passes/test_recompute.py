"""Between marks nothing is kept for gradients but integers, and copies have the same bits."""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.interpret import interpret
from gnomon.ops.sorting import argsort
from gnomon.passes.recompute import is_marked, marked, recompute
from tests.gradients import gradients


def graph_of(marks: bool, inner) -> Graph:
    """A function of x and a weight, and the slopes of both."""
    arena = Arena()
    x, w = arena.input((6,), float32), arena.input((6,), float32)
    begun = marked(x, False) if marks else x
    y = inner(begun, w)
    y = marked(y, True) if marks else y
    seed = elementwise("mul", y, y)
    return Graph([x, w], [y, *(g for g in gradients(y, seed, [x, w]) if g is not None)])


def curved(x: Node, w: Node) -> Node:
    """Two steps whose slopes read what they computed."""
    return elementwise("tanh", elementwise("tanh", x * w) * w)


def values(graph: Graph, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The outputs by numpy."""
    return interpret(graph.outputs, dict(zip(graph.inputs, arrays, strict=True)))


def count(graph: Graph, f: str) -> int:
    """How often a scalar function is computed."""
    return sum(x.op == "map" and x.params["f"] == f for x in graph)


def test_gradients_read_copies_with_the_same_values(rng):
    arrays = [rng.normal(size=6).astype("f4") for _ in range(2)]
    plain, made = graph_of(False, curved), recompute(graph_of(True, curved))

    assert (count(plain, "tanh"), count(made, "tanh")) == (2, 4)
    assert sum(x.op == "barrier" for x in made) == 1
    for found, wanted in zip(values(made, arrays), values(plain, arrays), strict=True):
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


def test_graphs_with_marks_are_told_from_others_and_have_none_afterwards():
    made = graph_of(True, curved)

    assert is_marked(made)
    assert not is_marked(graph_of(False, curved))
    assert not is_marked(recompute(made))


def test_positions_are_kept():
    def ordered(x: Node, w: Node) -> Node:
        place = argsort(elementwise("tanh", x), 0)
        return elementwise("tanh", x * w) * elementwise("mul", place, 2.0)

    made = recompute(graph_of(True, ordered))

    assert sum(x.op in ("sort", "region") for x in made) == 1


def test_a_function_whose_gradient_nobody_asks_for_is_computed_once():
    arena = Arena()
    x, w = arena.input((6,), float32), arena.input((6,), float32)
    y = marked(curved(marked(x, False), w), True)

    made = recompute(Graph([x, w], [y]))

    assert count(made, "tanh") == 2
    assert not any(node.op == "barrier" for node in made)
