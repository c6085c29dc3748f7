"""Graphs without their numbers: one program at two shapes has one outline."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.ir.dissected import dissection, leaf_counts, renumbered
from gnomon.ir.node import Graph, Node
from gnomon.ops.normalization import softmax as softmax_of
from gnomon.ops.primitives import reduce
from tests.graphs import built

pytestmark = pytest.mark.unit


def graph_of(f: Callable[[Node], Node], shape: tuple[int, int]) -> Graph:
    """A function's graph at a shape."""
    root, leaves = built(f, np.zeros(shape, np.float32))
    return Graph(leaves, [root])


def softmax(n: int, m: int) -> Graph:
    """A region with a graph inside."""
    return graph_of(lambda x: softmax_of(x, -1), (n, m))


def test_shapes_have_one_outline_and_other_functions_another():
    (one, numbers), (same, others) = dissection(softmax(3, 4)), dissection(softmax(5, 4))
    other, _ = dissection(graph_of(lambda x: softmax_of(x, 0), (3, 4)))

    assert one == same
    assert one != other
    assert len(numbers) == len(others)
    assert numbers != others


def test_numbers_put_back_make_the_same_graph():
    graph = softmax(3, 4)
    _, numbers = dissection(graph)

    assert renumbered(graph, iter(numbers)).key == graph.key


def test_numbers_of_another_shape_make_its_graph():
    _, numbers = dissection(softmax(7, 4))

    assert renumbered(softmax(3, 4), iter(numbers)).key == softmax(7, 4).key


def test_counts_of_leaves_are_told():
    graph = graph_of(lambda x: reduce("add", x, (0,)), (8, 3))
    _, numbers = dissection(graph)

    assert [numbers[k] for k in leaf_counts(graph)] == [8]


def test_other_ranks_and_operations_have_other_outlines():
    outline, _ = dissection(graph_of(lambda x: x * 2.0, (3, 5)))

    assert outline != dissection(graph_of(lambda x: x + 2.0, (3, 5)))[0]
    assert outline != dissection(graph_of(lambda x: reduce("add", x * 2.0, (0,)), (3, 5)))[0]


def test_floats_are_numbers_to_the_last_bit():
    graphs = [graph_of(lambda x, k=k: x * k, (3, 5)) for k in (0.1, 0.0, -0.0)]
    outlines, numbers = zip(*map(dissection, graphs), strict=True)

    assert len(set(outlines)) == 1
    assert len(set(numbers)) == 3
    for graph, own in zip(graphs, numbers, strict=True):
        assert renumbered(graphs[0], iter(own)).key == graph.key
