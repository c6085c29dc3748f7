"""Graphs are run node by node, as they are or into another."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import fx
from gnomon.errors import TraceError
from tests.fx.programs import functions_of, modules_of


def test_an_interpreter_gives_what_the_module_gives():
    traced = fx.symbolic_trace(modules_of(gn)["block"])
    x = gn.arange(16.0).reshape(1, 2, 8)

    assert repr(fx.Interpreter(traced).run(x)) == repr(traced(x))
    assert repr(fx.Interpreter(traced, garbage_collect_values=False).run(x)) == repr(traced(x))


def test_a_subclass_sees_and_changes_what_runs():
    class Swapped(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            return super().call_function(gn.cos if target is gn.sin else target, args, kwargs)

    assert Swapped(fx.symbolic_trace(lambda x: gn.sin(x) + 1)).run(gn.zeros(1)).tolist() == [2.0]


def test_values_that_are_given_are_not_computed():
    traced = fx.symbolic_trace(lambda x: gn.exp(x) + 1)
    exp = traced.graph.find_nodes(op="call_function")[0]

    assert fx.Interpreter(traced).run(gn.zeros(1), initial_env={exp: gn.full((1,), 5.0)}) == 6.0


def test_defaults_and_missing_arguments():
    traced = fx.symbolic_trace(functions_of(gn)["defaults"])

    assert fx.Interpreter(traced).run(gn.ones(2)) == traced(gn.ones(2))
    with pytest.raises(TraceError, match="Interpreter: no argument for 'x'"):
        fx.Interpreter(traced).run()


def test_a_transformer_makes_another_graph():
    class Negated(fx.Transformer):
        def call_function(self, target, args, kwargs):
            found = super().call_function(target, args, kwargs)
            return -found if target is gn.relu else found

        def call_method(self, target, args, kwargs):
            return super().call_method("abs" if target == "neg" else target, args, kwargs)

    traced = fx.symbolic_trace(lambda x, y=2: gn.relu(x).neg() * y)
    other = Negated(traced).transform()

    assert [node.name for node in other.graph.nodes] == [
        "x",
        "y",
        "relu",
        "neg",
        "abs_1",
        "mul",
        "output",
    ]
    assert other(gn.full((1,), 3.0)).tolist() == [6.0]
    assert traced(gn.full((1,), 3.0)).tolist() == [-6.0]


def test_a_transformer_may_give_what_is_not_traced():
    class Plain(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return gn.full((2,), 3.0)

    made = Plain(fx.symbolic_trace(lambda x: gn.sin(x))).transform()

    assert made(gn.ones(2)).tolist() == [3.0, 3.0]
