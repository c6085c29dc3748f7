"""Collectives as transfers: how many messages, of which bytes. Their values: tests of threads."""

from __future__ import annotations

import pytest

from gnomon.dtypes import DType, bfloat16, float32, int32
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
from gnomon.passes.lower_collectives import MOST_ROWS, SMALL, lower_collectives

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
    assert messages(lambda x: reduce_scatter(x, 1, "a", 2)) == ["fold_ranks"]
    assert messages(lambda x: all_to_all(x, 0, 1, "a", 2)) == ["exchange_ranks"]
    assert messages(lambda x: permute_ranks(x, 1, "a", 3)) == ["shift_ranks"]
    assert messages(lambda x: all_reduce(x, "a", 2)) == ["gather_ranks"]


def test_a_large_sum_travels_in_stretches():
    assert messages(lambda x: all_reduce(x, "a", 2), (SMALL // 4, 2)) == [
        "fold_ranks",
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


def test_what_one_call_can_fold_is_folded_as_it_comes():
    ranks = MOST_ROWS + 1

    def scattered(monoid: str = "add", dtype: DType = float32, ranks: int = 2) -> str:
        x = Arena().input((ranks, 3), dtype, "x")
        graph = lower_collectives(Graph([x], [reduce_scatter(x, 0, "a", ranks, monoid)]))
        (found,) = [node.op for node in graph if node.op in TRANSFERS]
        return found

    assert {scattered(x) for x in ("add", "mul", "max", "min", "average")} == {"fold_ranks"}
    assert scattered("add", bfloat16) == "fold_ranks"
    # its mean is rounded once, after the division
    assert scattered("average", bfloat16) == "exchange_ranks"
    assert scattered("bits_or", int32) == "exchange_ranks"
    assert scattered(ranks=ranks) == "exchange_ranks"


def test_sums_that_are_folded_as_they_come_have_the_leaves_of_others():
    x = Arena().input((6, 8), float32, "x")
    ordered, free = (
        lower_collectives(Graph([x], [reduce_scatter(x, 0, "a", 6, ordered=each)]))
        for each in (True, False)
    )

    found = [node for node in (*ordered, *free) if node.op == "fold_ranks"]
    assert [node.params["leaves"] for node in found] == [2, 1]
