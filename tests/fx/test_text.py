"""The text of a program computes what its nodes say."""

from __future__ import annotations

import math
import operator
from typing import NamedTuple

import gnomon as gn
from gnomon import fx
from gnomon.fx.text import python_code


class Pair(NamedTuple):
    """A tuple with names."""

    first: object
    second: object


def doubled(x: gn.Tensor) -> gn.Tensor:
    """A function of the user's."""
    return x * 2


def text_of(*arguments: object, function: object = doubled) -> str:
    """The text of one call."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(function, (x, *arguments)))
    return python_code(graph.nodes, "self").src.strip().splitlines()[1].strip()


def test_signs_and_items_are_written_as_such():
    assert text_of(1, function=operator.truediv) == "truediv = x / 1;  x = None"
    assert text_of(slice(1, None), function=operator.getitem) == (
        "getitem = x[slice(1, None, None)];  x = None"
    )
    assert text_of("shape", function=getattr) == "getattr_1 = x.shape;  x = None"
    assert text_of("no name", function=getattr) == "getattr_1 = getattr(x, 'no name');  x = None"


def test_values_from_outside_have_names():
    assert text_of(function=gn.relu) == "relu = gnomon.relu(x);  x = None"
    assert text_of(math.inf, -math.inf, gn.float32, function=gn.sum) == (
        "sum_1 = gnomon.sum(x, float('inf'), float('-inf'), gnomon.float32);  x = None"
    )
    assert text_of(Pair(1, [2])).endswith("Pair(1, [2]));  x = None")


def test_two_functions_of_one_name_are_two():
    graph = fx.Graph()
    x = graph.placeholder("x")
    first, second = (lambda x: x + 1), (lambda x: x * 5)
    y = graph.call_function(second, (graph.call_function(first, (x,)),))
    graph.output(y)

    assert fx.GraphModule({}, graph)(1) == 10


def test_values_are_let_go_behind_their_last_reader():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(doubled, (x,))
    graph.call_function(doubled, (y,))
    graph.output((y, x))

    lines = python_code(graph.nodes, "self").src.strip().splitlines()
    assert [line.partition(";")[2].strip() for line in lines[1:3]] == ["", "doubled_1 = None"]


def test_defaults_are_written():
    graph = fx.Graph()
    graph.placeholder("x", default_value=None)
    graph.placeholder("*rest")
    graph.output(1)

    assert "def forward(self, x = None, *_rest):" in python_code(graph.nodes, "self").src
