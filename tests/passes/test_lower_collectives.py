"""Collectives as transfers: how many messages, of which bytes. Their values: tests of threads."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.collectives import (
    COLLECTIVES,
    TRANSFERS,
    all_gather,
    all_reduce,
    all_to_all,
    permute_ranks,
    reduce_scatter,
)
from gnomon.passes.lower_collectives import SMALL, lower_collectives

pytestmark = pytest.mark.unit


def messages(make, shape=(4, 6)) -> list[str]:
    """The transfers that a collective comes down to."""
    x = Arena().input(shape, float32, "x")
    graph = lower_collectives(Graph([x], [make(x)]))

    assert not [node for node in graph if node.op in COLLECTIVES]
    assert [node.shape for node in graph.outputs] == [make(x).shape]
    return [node.op for node in graph if node.op in TRANSFERS]


def test_each_collective_is_one_message():
    assert messages(lambda x: all_gather(x, 1, "a", 2)) == ["gather_ranks"]
    assert messages(lambda x: reduce_scatter(x, 1, "a", 2)) == ["exchange_ranks"]
    assert messages(lambda x: all_to_all(x, 0, 1, "a", 2)) == ["exchange_ranks"]
    assert messages(lambda x: permute_ranks(x, 1, "a", 3)) == ["shift_ranks"]
    assert messages(lambda x: all_reduce(x, "a", 2)) == ["gather_ranks"]


def test_a_large_sum_travels_in_stretches():
    assert messages(lambda x: all_reduce(x, "a", 2), (SMALL // 4, 2)) == [
        "exchange_ranks",
        "gather_ranks",
    ]
    # stretches would not be equal
    assert messages(lambda x: all_reduce(x, "a", 2), (SMALL // 4 + 1,)) == ["gather_ranks"]


def test_one_rank_sends_nothing():
    assert messages(lambda x: all_reduce(x, "a", 1)) == []
    assert messages(lambda x: permute_ranks(x, 0, "a", 2)) == []


def test_a_sum_has_a_leaf_for_each_rank_and_a_maximum_one():
    x = Arena().input((4,), float32, "x")
    graph = lower_collectives(
        Graph([x], [all_reduce(x, "a", 4), all_reduce(x, "a", 4, "max"), all_reduce(x, "a", 6)])
    )

    assert [node.params["leaves"] for node in graph.outputs] == [4, 1, 2]
