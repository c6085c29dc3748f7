"""The rewrite engine itself; that each rule of ours is true is tests/test_every_rule.py."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32, float64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ir.provenance import Site, inherit
from gnomon.ir.rewrite import Rule, Rules, function, rewrite, variables

pytestmark = pytest.mark.unit

x, y, C = variables("x y C")


def leaf(shape=(2, 3)) -> Node:
    """An input."""
    return Arena().input(shape, float32)


def test_a_variable_that_stands_twice_means_one_node():
    rule = x - x >> x
    a = leaf()
    b = a.arena.input((2, 3), float32)

    assert rule_of(rule).apply(a - a) is a
    assert rule_of(rule).apply(a - b) is None


def test_a_capital_letter_means_a_constant():
    rule = rule_of(x + C >> x)
    a = leaf()

    assert rule.apply(a + 2.0) is a
    assert rule.apply(a + a) is None


def test_zeros_of_both_signs_are_different_numbers():
    rule = rule_of(x + (-0.0) >> x)
    a = leaf()

    assert rule.apply(a + (-0.0)) is a
    assert rule.apply(a + 0.0) is None


def test_a_rule_that_would_lose_a_broadcast_says_nothing():
    wide, narrow = leaf(), None
    narrow = wide.arena.input((1, 3), float32)

    assert (
        rule_of(function("maximum")(x, y) >> y).apply(elementwise("maximum", wide, narrow)) is None
    )


def test_a_guard_decides():
    rules = Rules("only floats of 64 bits")
    rules += x * 1.0 >> x, lambda x, **_: x.dtype is float64
    arena = Arena()
    single, double = arena.input((2,), float32), arena.input((2,), float64)

    assert rules[0].apply(single * 1.0) is None
    assert rules[0].apply(double * 1.0) is double


def test_rules_apply_for_as_long_as_one_has_something_to_say():
    rule = rule_of(x * 1.0 >> x)
    a = leaf()

    graph = rewrite(Graph([a], [((a * 1.0) * 1.0) + a]), rule.apply)

    assert [node.op for node in graph.nodes] == ["input", "map"]


def test_what_is_built_inherits_the_lines_of_what_it_replaces():
    rule = rule_of(x - (-y) >> x + y)
    a = leaf()
    b = a.arena.input((2, 3), float32)
    with inherit((Site("model.py", 3, "forward"),)):
        root = a - (-b)

    graph = rewrite(Graph([a, b], [root]), rule.apply)

    assert graph.outputs[0].params["f"] == "add"
    assert [site.line for site in graph.outputs[0].sites] == [3]


def rule_of(rule: object) -> Rule:
    """A rule, checked to be one."""
    assert isinstance(rule, Rule)
    return rule


def test_a_rule_asks_first_for_the_operations_of_its_operands():
    negated = rule_of(x + (-y) >> x - y)

    assert negated.asked == ("", "map")
    assert rule_of(x * 1.0 >> x).asked == ("", "const")
    assert rule_of(x / C >> x).asked == ("", "const")
    assert negated.apply(leaf()) is None
