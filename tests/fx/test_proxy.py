"""Proxies write down what is done with them."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import fx
from gnomon.errors import TraceError
from gnomon.fx.proxy import GraphAppendingTracer
from tests.fx.programs import functions_of


def test_what_is_done_with_a_proxy_is_appended():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))

    1 - gn.relu(x)[..., 0].shape[0]

    assert [str(node) for node in graph.nodes] == [
        "x",
        "relu",
        "getitem",
        "getattr_1",
        "getitem_1",
        "sub",
    ]
    assert graph.find_nodes(op="call_function")[-1].args[0] == 1


def test_an_attribute_that_is_called_is_a_method_and_else_a_value():
    graph = fx.Graph()
    x = fx.Proxy(graph.placeholder("x"))

    x.view(1, 2)
    assert [node.op for node in graph.nodes] == ["placeholder", "call_method"]
    assert (x.dtype == gn.float32).node.op == "call_function"


def test_the_length_of_a_proxy_is_refused():
    with pytest.raises(TraceError, match=r"trace: len\(\) of x, which is traced, is no number yet"):
        len(fx.Proxy(fx.Graph().placeholder("x")))


def test_what_a_graph_cannot_hold_is_refused():
    tracer = GraphAppendingTracer(fx.Graph())

    with pytest.raises(NotImplementedError, match="trace: argument of type <class 'object'>"):
        tracer.create_arg([object()])
    assert tracer.create_arg(((1, range(3)), {"a": slice(2)})) == ((1, range(3)), {"a": slice(2)})


def test_values_of_two_programs_do_not_meet():
    x, y = (fx.Proxy(fx.Graph().placeholder(name)) for name in "xy")

    with pytest.raises(TraceError, match="trace: add has values of two programs"):
        gn.add(x, y)


def test_operators_of_every_side_are_written_down():
    traced = fx.symbolic_trace(functions_of(gn)["signs"])

    found = [node.target.__name__ for node in traced.graph.nodes if node.op == "call_function"]
    assert found == [
        *("neg", "mul", "add", "sub", "truediv", "sub", "pow", "gt", "eq", "invert", "and_"),
        *("abs", "matmul", "floordiv", "mod"),
    ]
