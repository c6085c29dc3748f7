"""Rows that ranks do not divide: how many shares there are, what is computed and what is sent."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.layouts import from_local, place
from gnomon.ops.placements import Split
from gnomon.ops.primitives import contract, reduce
from gnomon.passes.choose import product_flops
from gnomon.passes.divide import divide
from gnomon.passes.virtual_ranks import shares_of

pytestmark = pytest.mark.unit


def rows_over(ranks: int, rows: int = 16) -> tuple[Arena, Node, Node]:
    """An input whose rows lie over ranks, and a weight."""
    arena = Arena()
    x, w = arena.input((rows, 4), float32, "x"), arena.input((8, 4), float32, "w")
    return arena, place(x, (("data", ranks, Split(0)),), stays=True), w


def graph_of(y: Node, *inputs: Node) -> Graph:
    """A graph of one result, of the inputs x and w."""
    return Graph([x for x in inputs if x.op == "input"], [y])


@pytest.mark.parametrize(
    ("ranks", "rows", "shares"), [(2, 16, 2), (4, 12, 4), (8, 12, 4), (3, 16, 16), (3, 6, 2)]
)
def test_there_are_as_many_shares_as_ranks_or_else_as_leaves(ranks: int, rows: int, shares: int):
    _, x, _ = rows_over(ranks, rows)

    assert shares_of(Graph([x.inputs[0]], [x]), "data", ranks) == shares


@pytest.mark.parametrize(
    ("ranks", "rows", "shares"), [(64, 128, 64), (3, 6, 3), (3, 16, 16), (32, 16, 16)]
)
def test_without_an_order_ranks_share_whatever_they_divide(ranks: int, rows: int, shares: int):
    _, x, _ = rows_over(ranks, rows)

    assert shares_of(Graph([x.inputs[0]], [x]), "data", ranks, ordered=False) == shares


@pytest.mark.parametrize(("ranks", "share"), [(3, 6), (5, 4), (6, 3), (7, 3)])
def test_a_rank_computes_its_leaves_and_no_more(ranks: int, share: int):
    _, x, w = rows_over(ranks)
    y = contract("bi,oi->bo", x, w)
    whole = Graph([x.inputs[0], w], [reduce("add", y, (0,))])

    local = divide(whole)

    assert sum(map(product_flops, local)) == share * sum(map(product_flops, whole)) / 16


@pytest.mark.parametrize(("ranks", "nodes"), [(3, 3), (5, 1), (6, 3), (7, 3)])
def test_of_a_sum_the_nodes_of_a_ranks_subtrees_are_sent(ranks: int, nodes: int):
    _, x, _ = rows_over(ranks)

    local = divide(Graph([x.inputs[0]], [reduce("add", x, (0,))]))

    (sent,) = [x for x in local if x.op == "all_gather"]
    assert sent.inputs[0].shape == (nodes, 4)
    assert sent.shape == (ranks * nodes, 4)


def test_rows_of_several_sizes_that_are_cut_differently_are_refused():
    arena, x, _ = rows_over(3)
    y = place(arena.input((6, 4), float32, "y"), (("data", 3, Split(0)),), stays=True)

    with pytest.raises(LayoutError, match=r"share rows of several sizes, \[6, 16\]"):
        divide(Graph([x.inputs[0], y.inputs[0]], [reduce("add", x, (0,)), reduce("add", y, (0,))]))


def test_parts_of_tensors_along_such_an_axis_are_refused():
    arena, x, _ = rows_over(3)
    part = arena.input((2, 4), float32, "part")
    whole = from_local(part, (("data", 3, Split(0)),))

    with pytest.raises(LayoutError, match="3 ranks of mesh axis 'data' hold parts of a tensor"):
        divide(Graph([x.inputs[0], part], [reduce("add", x, (0,)) + reduce("add", whole, (0,))]))
