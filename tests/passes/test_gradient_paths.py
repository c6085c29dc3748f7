"""Gradient paths: which captured functions are opened, and where a gradient is added up."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.passes.gradient_paths import GradientPaths, is_captured
from gnomon.tensor.tensor import node_of


@gn.compile
def captured(w, t):
    """A function with one result."""
    return (w * t).sin() + (w * 2).exp()


@gn.compile
def two(w, t):
    """A function with two."""
    return (w * t).sin(), w.exp()


def alone(w, t):
    """Nobody else reads what the call reads."""
    return captured(w, t) * t.exp()


def of_a_value(w, t):
    return captured((w * t).cos(), t) * 2


def shared(w, t):
    return captured(w, t) * w.exp()


def of_one_value_twice(w, t):
    return captured(w, w * t)


def both_results(w, t):
    a, b = two(w, t)
    return a * b


def one_of_two(w, t):
    return two(w, t)[0]


def twice(w, t):
    return captured(w, t) + captured(w, t.exp())


@pytest.mark.parametrize(
    ("program", "opens"),
    [(alone, False), (of_a_value, False), (one_of_two, False)]
    + [(x, True) for x in (shared, of_one_value_twice, both_results, twice)],
)
def test_a_captured_function_is_opened_where_others_read_what_it_reads(program, opens):
    for _ in range(2):  # captured, replayed
        w = gn.tensor([0.5, -1.5], requires_grad=True)
        t = gn.tensor([2.0, 0.25])
        paths = GradientPaths([node_of(program(w, t))], [node_of(w)])
        calls = [x for x in paths.nodes if is_captured(x)]
        assert calls, "the calls stand in the graph, opened or not"
        assert [paths.is_passing(x) for x in calls] == [opens] * len(calls)
        for call in calls:
            assert (paths.predecessors(call) == call.inputs) is not opens


def test_all_values_of_a_leaf_are_added_up_at_the_first_in_order():
    w = gn.tensor([0.5], requires_grad=True)
    read = [w * 1.0]
    for _ in range(2):
        with gn.no_grad():
            w.add_(1)
        read.append(w * 1.0)
    root = node_of(read[0] + read[1] + read[2])
    leaves = [node_of(x).inputs[0] for x in read]
    paths = GradientPaths([root], leaves, [leaves])
    order = [x for x in paths.nodes if x in leaves]
    assert {paths.summed_at(x) for x in leaves} == {order[0]}
    assert GradientPaths([root], leaves).summed_at(leaves[1]) is leaves[1]
