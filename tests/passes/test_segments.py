"""A program cut where ranks meet."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import all_gather, all_reduce
from gnomon.ops.primitives import reshape
from gnomon.passes.segments import Meeting, Segment, cut, last_reads

pytestmark = pytest.mark.unit


def kinds(steps) -> list[str]:
    return [step.op if isinstance(step, Meeting) else "run" for step in steps]


def test_without_collectives_there_is_one_segment():
    x = Arena().input((4,), float32, "x")

    (step,) = cut(Graph([x], [x + x]))

    assert isinstance(step, Segment)


def test_collectives_that_are_ready_together_travel_together():
    x = Arena().input((4,), float32, "x")
    a, b = all_reduce(x + x, "m", 2), all_reduce(x * x, "m", 2)
    other = all_reduce(x - x, "n", 2)

    steps = cut(Graph([x], [a + b, other]))

    assert kinds(steps) == ["run", "all_reduce", "all_reduce", "run"]
    assert [len(step.gives) for step in steps if isinstance(step, Meeting)] == [2, 1]


def test_what_follows_a_collective_comes_after_it():
    x = Arena().input((4,), float32, "x")
    once = all_reduce(x * x, "m", 2)

    steps = cut(Graph([x], [all_gather(once + x, 0, "m", 2)]))

    assert kinds(steps) == ["run", "all_reduce", "run", "all_gather"]


def test_views_are_not_handed_over():
    x = Arena().input((4,), float32, "x")
    column = reshape(x * x, (4, 1))
    later = all_reduce(x, "m", 2)

    first, *_, last = cut(Graph([x], [column * reshape(later, (4, 1))]))

    assert [v.shape for v in first.gives] == [(4,)]
    assert [v.shape for v in last.takes] == [(4,), (4,)]


def test_an_input_that_is_a_result_needs_no_step():
    x = Arena().input((4,), float32, "x")

    assert cut(Graph([x], [x])) == []


def test_a_value_dies_with_its_last_reader():
    x = Arena().input((4,), float32, "x")
    square = x * x
    once = all_reduce(square, "m", 2)
    steps = cut(Graph([x], [once + square]))

    assert last_reads(steps) == [{x}, set(), {once, square}]
    assert last_reads(cut(Graph([x], [all_reduce(square, "m", 2)]))) == [{x}, {square}]


def test_a_segment_keeps_the_lines_of_its_nodes():
    x = Arena().input((4,), float32, "x")
    graph = Graph([x], [x * x + 1.0])

    (step,) = cut(graph)

    assert [node.sites for node in step.graph] == [node.sites for node in graph]
    assert step.graph.outputs[0].sites[0].file == __file__
