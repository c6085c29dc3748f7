"""Nodes: arguments and users follow each other."""

from __future__ import annotations

import operator
from typing import NamedTuple

import pytest

import gnomon as gn
from gnomon import fx
from gnomon.errors import TraceError
from gnomon.fx.node import Node, map_aggregate


class Pair(NamedTuple):
    """A tuple with names."""

    first: object
    second: object


def test_structures_keep_their_classes():
    found = map_aggregate(Pair([1], {"a": slice(2, None)}), lambda x: x and x + 1)

    assert found == Pair([2], {"a": slice(3, None)})
    assert type(found) is Pair


def test_users_follow_arguments():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    both = graph.call_function(gn.cat, ([x, y],), {"dim": 0})

    assert ([*x.users], [*y.users], both.all_input_nodes) == ([both], [both], [x, y])
    both.args = ([x, x],)
    assert ([*x.users], [*y.users]) == ([both], [])
    both.update_kwarg("dim", y)
    assert [*y.users] == [both]
    both.insert_arg(1, y)
    both.update_arg(0, [])
    assert (both.args, [*x.users]) == (([], y), [])


def test_readers_read_another_node():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.neg, (x,))
    z = graph.call_function(operator.add, (y, y))
    w = graph.call_function(operator.mul, (y, 2))

    assert y.replace_all_uses_with(x, lambda user: user is not w) == [z]
    assert (z.args, w.args, [*y.users]) == ((x, x), (y, 2), [w])


def test_a_node_moves_in_its_own_graph_alone():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    x.prepend(y)

    assert [*graph.nodes] == [y, x]
    y.prepend(y)
    assert [*graph.nodes] == [y, x]
    with pytest.raises(TraceError, match=r"prepend: x is of another graph\. Use node_copy"):
        y.prepend(fx.Graph().placeholder("x"))


def test_an_unknown_kind_is_refused():
    with pytest.raises(TraceError, match=r"Node: expected an op of call_function.*got 'call'"):
        Node(fx.Graph(), "x", "call", "x")


def test_a_node_is_shown_as_a_line():
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.add, (x,), {"other": [x]})

    assert y.format_node() == (
        "%add : [num_users=0] = call_function[target=_operator.add]"
        "(args = (%x,), kwargs = {'other': [%x]})"
    )
