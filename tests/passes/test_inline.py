"""Opening regions: same values, a claim keeps its region, lines and names are handed on."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float64
from gnomon.ir.node import Arena, Graph
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.primitives import reduce
from gnomon.ops.registry import OPS, op
from gnomon.passes.inline import inline

pytestmark = pytest.mark.unit


@pytest.fixture
def nested():
    """A graph of a region in a region, and a name for each."""
    before = set(OPS)

    @op
    def inner_part(x):
        """Sum of squares."""
        return reduce("add", x * x, (1,))

    @op
    def outer_part(x):
        """Twice the inner part, minus it."""
        return inner_part(x) * 2.0 - inner_part(x)

    x = Arena().input((2, 3), float64)
    yield Graph([x], [outer_part(x)])
    for name in set(OPS) - before:
        del OPS[name]


def test_opening_everything_keeps_the_value(nested, rng):
    flat = inline(nested, lambda node: False)
    x = rng.standard_normal((2, 3))

    assert not [node for node in flat if node.op == "region"]
    assert np.array_equal(interpret_graph(flat, [x])[0], interpret_graph(nested, [x])[0])


def test_a_claimed_region_stays_closed_at_any_depth(nested, rng):
    part = inline(nested, lambda node: node.params["name"] == "inner_part")
    x = rng.standard_normal((2, 3))

    assert [n.params["name"] for n in part if n.op == "region"] == ["inner_part"]
    assert np.array_equal(interpret_graph(part, [x])[0], interpret_graph(nested, [x])[0])


def test_nodes_of_a_body_carry_the_callers_line_and_the_outermost_name(nested):
    (called,) = nested.outputs[0].sites

    flat = inline(nested, lambda node: False)

    for node in flat:
        # a number is nobody's: every line that uses it would be its own
        if node.op not in ("input", "const"):
            assert {(s.file, s.line) for s in node.sites} == {(called.file, called.line)}
            assert {s.op for s in node.sites} == {"outer_part"}


def test_the_graph_that_was_given_is_left_alone(nested):
    key, arena = nested.key, nested.outputs[0].arena

    flat = inline(nested, lambda node: False)

    assert nested.key == key
    assert flat.outputs[0].arena is not arena


def test_regions_of_several_results_are_opened_once_at_any_depth(rng):
    before = set(OPS)

    def level(number, below):
        def both(x):
            """The sum and the difference of two results."""
            first, second = below(x)
            return first + second, first - second

        both.__name__ = f"both_{number}"
        return op(both)

    part = level(0, lambda x: (x * 2.0, x * 3.0))
    for number in range(1, 40):
        part = level(number, part)
    x = Arena().input((2,), float64)
    graph = Graph([x], part(x))
    for name in set(OPS) - before:
        del OPS[name]

    flat = inline(graph, lambda node: False)

    assert not [node for node in flat if node.op == "region"]
    assert len(flat.nodes) < 200
