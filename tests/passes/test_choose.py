"""Known layouts come out of the signatures alone: data, tensor, vocabulary parallel."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.attention import attention_forward
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.ops.primitives import contract
from gnomon.passes.choose import choose, options, product_flops
from tests.passes.on_ranks import across

pytestmark = pytest.mark.unit


def given(root: Node, placements: dict[Node, object], ranks: int = 2):
    """How a root lies."""
    leaves = list(placements)
    return choose(Graph(leaves, [root]), across(ranks), placements)[root].given


def two(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[Node, Node]:
    arena = Arena()
    return arena.input(left, float32, "left"), arena.input(right, float32, "right")


def test_rows_stay_split_through_a_layer():
    x, w = two((8, 256), (512, 256))

    assert given(contract("bi,oi->bo", x, w), {x: Split(0), w: REPLICATED}) == Split(0)


def test_a_column_parallel_layer_splits_its_output():
    x, w = two((8, 256), (512, 256))

    assert given(contract("bi,oi->bo", x, w), {x: REPLICATED, w: Split(0)}) == Split(1)


def test_a_row_parallel_layer_leaves_a_pending_sum():
    x, w = two((8, 256), (512, 256))

    assert given(contract("bi,oi->bo", x, w), {x: Split(1), w: Split(1)}) == Partial("add")


def test_what_cannot_be_cut_between_leaves_is_cut_elsewhere():
    x, w = two((8, 48), (512, 48))  # 48 is one leaf

    assert given(contract("bi,oi->bo", x, w), {x: Split(1), w: Split(1)}) == Split(1)


def test_what_can_be_cut_nowhere_is_repeated():
    x, w = two((7, 48), (511, 48))

    assert given(contract("bi,oi->bo", x, w), {x: Split(1), w: Split(1)}) == REPLICATED


def test_a_pending_sum_does_not_pass_an_addition():
    x, w = two((8, 256), (64, 256))
    y = contract("bi,oi->bo", x, w)

    assert given(y + y, {x: Split(1), w: Split(1)}) == REPLICATED
    assert given(-y, {x: Split(1), w: Split(1)}) == Partial("add")


def test_where_nothing_is_split_only_products_are_shared():
    x, w = two((8, 256), (512, 256))
    whole = {x: REPLICATED, w: REPLICATED}

    assert given(contract("bi,oi->bo", x, w), whole) == Split(0)
    assert given(x * x, whole) == REPLICATED


def test_flops_are_counted():
    x, w = two((8, 256), (512, 256))

    assert product_flops(contract("bi,oi->bo", x, w)) == 2 * 8 * 256 * 512


def test_a_closed_region_is_split_along_what_its_body_leaves_alone():
    arena = Arena()
    q, k, v = (arena.input((2, heads, 4, 8), float32, "") for heads in (4, 2, 2))
    y, lse = attention_forward(q, k, v, causal=True, scale=0.5)

    for region in (y, lse):
        splits = [s.given for s in options(region, across(2))]
        assert splits == [REPLICATED, Split(0), Split(1)]
        assert product_flops(region) > 0


def test_a_region_whose_heads_do_not_divide_is_split_by_rows_alone():
    arena = Arena()
    q, k, v = (arena.input((2, 3, 4, 8), float32, "") for _ in "qkv")
    y, _ = attention_forward(q, k, v, causal=True, scale=0.5)

    assert [s.given for s in options(y, across(2))] == [REPLICATED, Split(0)]


def test_positions_are_made_in_parts_only_when_asked():
    numbers = Arena().node("iota", (), size=8, dtype=int64)

    assert [s.given for s in options(numbers, across())] == [REPLICATED, Split(0)]
    assert given(numbers, {}) == REPLICATED
