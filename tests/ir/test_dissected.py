"""Graphs without their numbers: one program at two shapes has one outline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir import memo
from gnomon.ir.dissected import NumberPlaces, dissection, renumbered, without_sizes
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.sym_float import FloatBits
from gnomon.ops.normalization import softmax as softmax_of
from gnomon.ops.primitives import reduce
from gnomon.ops.view_primitives import permute
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
    one, numbers, *_ = dissection(softmax(3, 4))
    same, others, *_ = dissection(softmax(5, 4))
    other = dissection(graph_of(lambda x: softmax_of(x, 0), (3, 4))).outline

    assert one == same
    assert one != other
    assert len(numbers) == len(others)
    assert numbers != others


def test_numbers_put_back_make_the_same_graph():
    graph = softmax(3, 4)
    numbers = dissection(graph).numbers

    assert renumbered(graph, iter(numbers)).key == graph.key


def test_numbers_of_another_shape_make_its_graph():
    numbers = dissection(softmax(7, 4)).numbers

    assert renumbered(softmax(3, 4), iter(numbers)).key == softmax(7, 4).key


def test_counts_of_leaves_are_told():
    _, numbers, leaves, _ = dissection(graph_of(lambda x: reduce("add", x, (0,)), (8, 3)))

    assert [numbers[k] for k in leaves] == [8]


def test_counts_of_leaves_inside_of_regions_are_told():
    _, numbers, leaves, _ = dissection(graph_of(lambda x: softmax_of(x * 2.0, 0) * 3.0, (8, 3)))

    assert [numbers[k] for k in leaves] == [1, 8]  # of the maximum, of the sum


def test_numbers_that_are_no_sizes_are_told():
    total = dissection(graph_of(lambda x: reduce("add", x * 2.0, (1,)), (8, 3)))
    turned = dissection(graph_of(lambda x: permute(x * 2.0, (1, 0)), (8, 3)))
    region = graph_of(lambda x: softmax_of(x, 1), (8, 3))
    within = dissection(region)

    assert total.structure == (1,)
    assert turned.structure == (1, 0)
    assert [within.numbers[k] for k in within.leaves] == [1, 1]
    # which argument of the call, which result, and two axes inside
    assert within.structure == (0, region.outputs[0].params["index"], 1, 1)


def nested(depth: int, n: int) -> Graph:
    """A region that holds the one of a level below twice."""
    x = Arena().input((n, 3), float32)
    if not depth:
        return Graph([x], [x * 2.0])
    inner = nested(depth - 1, n)
    y = x
    for k in range(2):
        params = {"body": inner, "gradient": inner, "name": f"level {k}"}
        y = x.arena.node("region", (y,), index=0, **params)
    return Graph([x], [y])


def test_a_graph_inside_counts_once_in_an_operation():
    graph, other = nested(20, 5), nested(20, 7)
    one, two = dissection(graph), dissection(other)

    assert one.outline == two.outline
    assert len(one.numbers) < 300
    assert renumbered(graph, iter(two.numbers)).key == other.key


def several(n: int, count: int) -> Graph:
    """Results of one call, and one of another call of the same graph."""
    inner, x = nested(3, n), Arena().input((n, 3), float32)
    params = {"body": inner, "name": "several"}
    made = [x.arena.node("region", (x,), index=0, at=k, **params) for k in range(count)]
    return Graph([x], [*made, x.arena.node("region", (made[0],), index=0, **params)])


def test_a_graph_inside_counts_once_for_the_results_of_a_call():
    graph, other = several(5, 30), several(7, 30)
    one, two = dissection(graph), dissection(other)

    assert one.outline == two.outline
    inside = len(dissection(several(5, 2)).numbers) - len(dissection(several(5, 1)).numbers)
    assert inside == 2  # its number among the results, and another
    assert renumbered(graph, iter(two.numbers)).key == other.key
    assert renumbered(other, iter(one.numbers)).key == graph.key


def test_other_ranks_and_operations_have_other_outlines():
    fs = [lambda x: x * 2.0, lambda x: x + 2.0, lambda x: reduce("add", x * 2.0, (0,))]
    graphs = [*[graph_of(f, (3, 5)) for f in fs], graph_of(fs[0], (3, 5, 1))]

    assert len({dissection(graph).outline for graph in graphs}) == 4


def test_the_number_of_an_outline_is_never_given_to_another():
    before = dissection(graph_of(lambda x: x * 2.0, (3, 5))).outline
    memo.clear()

    assert dissection(graph_of(lambda x: x + 2.0, (3, 5))).outline != before


def test_floats_are_numbers_to_the_last_bit():
    graphs = [graph_of(lambda x, k=k: x * k, (3, 5)) for k in (0.1, 0.0, -0.0)]
    outlines, numbers, *_ = zip(*map(dissection, graphs), strict=True)

    assert len(set(outlines)) == 1
    assert len(set(numbers)) == 3
    for graph, own in zip(graphs, numbers, strict=True):
        assert renumbered(graphs[0], iter(own)).key == graph.key


def test_numbers_are_found_where_others_are_put_in_their_place():
    @dataclass(frozen=True)
    class Placed:
        axis: int
        count: Any

    found = NumberPlaces()
    outline = without_sizes((Placed(3, (5, 0.5)), "a"), found)

    assert outline == ("tuple", ("Placed", int, ("tuple", int, float)), "a")
    assert (found.numbers, found.fixed) == ([3, 5, FloatBits.of(0.5)], [0])
