"""A pass that breaks a graph is named."""

from __future__ import annotations

import importlib
from unittest.mock import patch

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.compiler import sized
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


def test_the_shape_of_another_node_is_found():
    graph = twice()
    (output,) = graph.outputs
    output.shape = (3, 2)

    with pytest.raises(AssertionError, match="have shapes or dtypes of other operations"):
        verify("wrong", Graph(graph.inputs, [output]), Graph(graph.inputs, [output]))


def test_every_pass_is_checked_when_that_is_asked_for():
    pipeline = importlib.import_module("gnomon.compiler.pipeline")

    with (
        patch.object(pipeline, "simplify", lambda graph: Graph(graph.inputs, ())),
        override(verify=True),
        pytest.raises(AssertionError, match="simplify: outputs were"),
    ):
        compile_graph(twice(), context())


def test_a_program_for_all_sizes_and_its_gradients_break_nothing():
    model = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 3))
    optimizer = gn.optim.AdamW(model.parameters())

    @gn.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    with (
        override(verify=True),
        patch.object(sized, "SizedProgram", wraps=sized.SizedProgram) as made,
    ):
        for rows in (5, 7, 9, 33):
            step(gn.tensor([[0.5] * 6] * rows), gn.tensor([k % 3 for k in range(rows)]))

    assert made.called


def test_inputs_that_no_line_has_made_are_fine():
    with override(verify=True):
        assert gn.randn(3, 3).exp().sum() > 0
