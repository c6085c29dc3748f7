"""Every way to divide every primitive gives the value that one process gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.dtypes import bool_, dtype_of, float32, int64
from gnomon.ir.node import Arena, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.interpret import evaluate
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.ops.primitives import contract, expand, reduce, reshape
from gnomon.ops.scalars import where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_, window
from gnomon.passes.strategies import strategies
from tests.passes.on_ranks import across, by_strategy, run_local

pytestmark = pytest.mark.unit

X, POSITIONS, MASK = (4, 8, 6), (4, 8), (4, 8, 1)
FULL = ((0, 4, 1), (0, 8, 1), (2, 5, 1))

NODES: dict[str, Callable[[Node, Node, Node, Node], Node]] = {
    "add": lambda x, y, i, m: x + y,
    "add a row": lambda x, y, i, m: x + slice_(y, ((0, 1, 1), (0, 1, 1), (0, 6, 1))),
    "neg": lambda x, y, i, m: -x,
    "cast": lambda x, y, i, m: x.arena.node("map", (x,), f="cast", dtype=dtype_of("float64")),
    "where": lambda x, y, i, m: where(m, x, y),
    "exp": lambda x, y, i, m: elementwise("exp", x),
    "sum of rows": lambda x, y, i, m: reduce("add", x, (0,)),
    "sum of tokens": lambda x, y, i, m: reduce("add", x, (1,)),
    "sum of the last": lambda x, y, i, m: reduce("add", x, (2,)),
    "max": lambda x, y, i, m: reduce("max", x, (1,)),
    "product": lambda x, y, i, m: reduce("mul", x, (0,)),
    "any": lambda x, y, i, m: reduce("or", m, (0,)),
    "integer sum": lambda x, y, i, m: reduce("add", i, (1,)),
    "contract": lambda x, y, i, m: contract("btd,bsd->bts", x, y),
    "contract rows": lambda x, y, i, m: contract("btd,bte->de", x, y),
    "outer": lambda x, y, i, m: contract("btd,bsd->bds", x, y),
    "permute": lambda x, y, i, m: permute(x, (2, 0, 1)),
    "join axes": lambda x, y, i, m: reshape(x, (32, 6)),
    "cut axes": lambda x, y, i, m: reshape(x, (2, 2, 8, 2, 3)),
    "regroup axes": lambda x, y, i, m: reshape(x, (8, 4, 6)),
    "slice": lambda x, y, i, m: slice_(x, FULL),
    "backwards": lambda x, y, i, m: slice_(x, ((0, 4, 1), (7, -1, -1), (0, 6, 1))),
    "pad": lambda x, y, i, m: pad(x, (0, 1, 0), (0, 2, 0)),
    "window": lambda x, y, i, m: window(x, 1, 3, 2),
    "expand": lambda x, y, i, m: expand(reduce_kept(x), X),
    "detach": lambda x, y, i, m: x.arena.node("detach", (x,)),
    "scan": lambda x, y, i, m: scan("add", x, 1),
    "sort": lambda x, y, i, m: sort_positions(x, 1),
    "pick": lambda x, y, i, m: gather("bvd,bt->btd", x, i),
    "pick along": lambda x, y, i, m: gather("btv,bt->bt", x, i),
    "place": lambda x, y, i, m: scatter("add", "btd,bt->vd", x, i, 6),
    "place each": lambda x, y, i, m: scatter("max", "btd,bt->bvd", x, i, 6),
    "iota": lambda x, y, i, m: x.arena.node("iota", (), size=8, dtype=int64),
}


def reduce_kept(x: Node) -> Node:
    """A leaf that can be expanded."""
    return x.arena.input((4, 1, 6), float32, "row")


def values(node: Node, rng: np.random.Generator) -> list[np.ndarray]:
    """Whole numbers, whose sums are exact in any order."""
    made = []
    for x in node.inputs:
        low, high = (0, 6) if x.dtype is int64 else (0, 2) if x.dtype is bool_ else (-4, 5)
        made.append(rng.integers(low, high, x.shape).astype(x.dtype.numpy))
    return made


def leaves_of(node: Node) -> Node:
    """The node over inputs of its own."""
    arena = node.arena
    inputs = tuple(arena.input(x.shape, x.dtype, "leaf") for x in node.inputs)
    return arena.node(node.op, inputs, **node.params)


def built(name: str) -> Node:
    """One node over leaves."""
    arena = Arena()
    given = [arena.input(X, float32, n) for n in "xy"]
    given += [arena.input(POSITIONS, int64, "i"), arena.input(MASK, bool_, "m")]
    return leaves_of(NODES[name](*given))


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name", NODES)
def test_every_strategy_gives_the_whole_value(name, ranks, rng):
    node, rules = built(name), across(ranks)
    arrays = values(node, rng)
    expected = evaluate(node, arrays)

    for strategy in strategies(node, rules):
        local = by_strategy(node, strategy, rules)
        for (got,) in run_local(local, strategy.wanted, arrays, ranks):
            np.testing.assert_array_equal(got, expected, err_msg=str(strategy))


def given(name: str, **rules: object) -> list:
    """The placements that the strategies of a node give."""
    return [s.given for s in strategies(built(name), across(2, **rules))]


def test_a_folded_letter_leaves_a_pending_sum_where_its_leaves_can_be_shared():
    assert Partial("add") in given("sum of rows")
    assert Partial("add") not in given("sum of tokens")  # 8 tokens are one leaf
    assert Partial("add") in given("sum of tokens", ordered=False)
    assert Partial("max") in given("max")


def test_only_the_outermost_letter_of_a_product_is_cut():
    assert [s.wanted for s in strategies(built("contract rows"), across(2))] == [
        (REPLICATED, REPLICATED),
        (Split(0), Split(0)),
        (Split(2), REPLICATED),
        (REPLICATED, Split(2)),
    ]


def test_pending_sums_pass_through_views_and_signs_and_nothing_else():
    carried = [n for n in NODES if Partial("add") in strategies(built(n), across(2))[0].wanted]

    assert carried == [
        "neg", "permute", "join axes", "cut axes", "regroup axes", "slice", "backwards", "detach"
    ]  # fmt: skip


def test_three_ranks_share_no_tree():
    node = leaves_of(reduce("add", Arena().input((12, 5), float32, "x"), (0,)))

    assert Partial("add") not in [s.given for s in strategies(node, across(3))]
