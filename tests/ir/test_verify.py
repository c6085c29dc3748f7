"""A pass that breaks a graph is named."""

from __future__ import annotations

import importlib
from unittest.mock import patch

import pytest

from gnomon.compiler.build import compile_graph
from gnomon.compiler.target import context
from gnomon.dtypes import float32, float64
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import cast
from gnomon.ir.provenance import inherit
from gnomon.ir.verify import verify
from gnomon.settings import override

pytestmark = pytest.mark.unit


def twice() -> Graph:
    """x + x."""
    x = Arena().input((2, 3), float32)
    return Graph([x], [x + x])


def test_a_graph_that_is_kept_is_fine():
    verify("nothing", twice(), twice())


def test_an_output_of_another_dtype_is_found():
    graph = twice()
    wrong = Graph(graph.inputs, [cast(graph.outputs[0], float64)])

    with pytest.raises(AssertionError, match="wrong: outputs were"):
        verify("wrong", graph, wrong)


def test_a_leaf_that_nobody_gives_is_found():
    graph = twice()
    other = graph.inputs[0].arena.input((2, 3), float32)

    with pytest.raises(AssertionError, match="are read and not given"):
        verify("wrong", graph, Graph(graph.inputs, [graph.inputs[0] + other]))


def test_a_lost_line_is_found():
    graph = twice()
    with inherit(()):
        silent = graph.inputs[0] * graph.inputs[0]

    with pytest.raises(AssertionError, match="lost their lines"):
        verify("wrong", graph, Graph(graph.inputs, [silent]))


def test_every_pass_is_checked_when_that_is_asked_for():
    pipeline = importlib.import_module("gnomon.compiler.pipeline")

    with (
        patch.object(pipeline, "simplify", lambda graph: Graph(graph.inputs, ())),
        override(verify=True),
        pytest.raises(AssertionError, match="simplify: outputs were"),
    ):
        compile_graph(twice(), context())
