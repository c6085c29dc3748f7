"""Graphs come back from their rows with their keys and lines; what is no graph is refused."""

from __future__ import annotations

import msgspec
import pytest

import gnomon as gn
from gnomon.capture.unrun import program_for
from gnomon.dtypes import float32
from gnomon.errors import TraceError
from gnomon.ir.node import Arena, Graph
from gnomon.ir.provenance import inherit
from gnomon.nn import functional as F
from gnomon.program.graphs import GraphReader, GraphWriter
from tests.controls import choice, folding, halving, loop, nested

pytestmark = pytest.mark.unit


def attention() -> Graph:
    """Regions with options, of a captured function."""
    x = gn.ones(1, 2, 4, 8, dtype=gn.bfloat16)
    compiled = gn.compile(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True))
    return program_for(compiled, x).graph


def read(writer: GraphWriter) -> list[Graph]:
    """The graphs of a writer's bytes."""
    rows, sites = msgspec.msgpack.decode(
        msgspec.msgpack.encode([writer.rows, list(map(list, writer.sites))])
    )
    return GraphReader(rows, sites).graphs


@pytest.mark.parametrize("make", [attention, choice, folding, halving, loop, nested])
def test_a_graph_comes_back(make):
    graph, writer = make(), GraphWriter()
    number = writer.number(graph)

    found = read(writer)[number]

    assert writer.number(graph) == number
    assert found.key == graph.key
    assert found.asked == graph.asked
    assert [x.sites for x in found.inputs] == [x.sites for x in graph.inputs]


def test_what_no_file_can_hold_is_named_with_its_line():
    arena = Arena()
    x = arena.input((2,), float32)
    with inherit(attention().outputs[0].sites):
        odd = arena.node("detach", (x,), kind=frozenset())

    with pytest.raises(TraceError, match=r"detach has a frozenset, which .*test_graphs\.py:"):
        GraphWriter().number(Graph([x], [odd]))


@pytest.mark.parametrize(
    "row",
    [
        [[], [], [0]],
        [[[[2], "float32", []]], [["none", [0], {}, []]], [1]],
        [[[[2], "float32", []]], [["input", [], {}, []]], [1]],
        [[[[2], "float32", []]], [["detach", [1], {}, []]], [1]],
        [[[[2], "float32", []]], [["detach", [-1], {}, []]], [1]],
        [[[[2], "float32", []]], [["reshape", [0], {"shape": ["", 1, 2.0]}, []]], [1]],
        [[[[2], "float32", []]], [["reshape", [0], {"shape": ["", 1, 3]}, []]], [1]],
        [[[[2], "float33", []]], [], [0]],
        [[[[-2], "float32", []]], [], [0]],
        [[[[2], "float32", [0]]], [], [0]],
        [[[[2], "float32", []]], [["region", [0], {"body": ["Graph", 0]}, []]], [1]],
        [[[[2], "float32", []]], [["detach", [0], {"serial": ["no"]}, []]], [1]],
    ],
)
def test_rows_that_are_no_graph_are_refused(row):
    with pytest.raises((ValueError, TypeError, LookupError)):
        GraphReader([row], [])
