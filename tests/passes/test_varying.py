"""What varies over a mesh axis, and which strategies that leaves."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.collectives import all_gather, all_reduce, reduce_scatter
from gnomon.ops.layouts import from_local, place, to_local
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.placements import REPLICATED, VARYING, Partial, Split
from gnomon.ops.primitives import contract
from gnomon.passes.choose import choose
from gnomon.passes.layout import MeshAxis
from gnomon.passes.strategies import Strategy
from gnomon.passes.varying import check_varying

pytestmark = pytest.mark.unit

ACROSS = MeshAxis("a", 2, beside=frozenset({"b"}))
ROWS, ALL = (("a", 2, Split(0)),), (("a", 2, REPLICATED),)


def square(name: str = "x") -> Node:
    """A plain input."""
    return Arena().input((4, 4), float32, name)


def product(x: Node, y: Node) -> Node:
    """x @ y."""
    return contract("ij,jk->ik", x, y)


def types_of(*results: Node):
    """How results lie, where all inputs vary."""
    inputs = list(dict.fromkeys(x for x in Graph([], list(results)) if x.op == "input"))
    plan = choose(Graph(inputs, list(results)), ACROSS, dict.fromkeys(inputs, VARYING))
    check_varying(plan, ACROSS)
    return [plan[x].given for x in results]


def test_a_plain_input_and_a_part_vary_and_constants_do_not():
    x = square()
    numbers = x.arena.node("iota", (), size=4, dtype=float32)
    part = to_local(place(x, ALL), ALL)

    assert types_of(x * 2.0, part, numbers * 2.0) == [VARYING, VARYING, REPLICATED]


def test_what_varies_is_divided_by_nobody():
    x = square()
    whole = place(x, ALL)

    assert types_of(product(x, x), product(whole, x)) == [VARYING, VARYING]
    assert types_of(product(whole, whole)) != [VARYING], "all ranks have it: it may be divided"


def test_where_it_meets_what_is_split_each_rank_takes_its_stretch():
    x = square()
    rows = place(x, ROWS)

    assert types_of(rows * x, product(rows, x)) == [Split(0), Split(0)]


def test_a_product_that_folds_a_split_axis_gathers_it():
    x = square()
    columns = place(x, (("a", 2, Split(1)),))

    assert types_of(product(columns, x)) == [VARYING]


def test_what_is_divided_to_save_work_counts_as_whole():
    x = square()
    whole = place(x, ALL)

    assert types_of(product(whole, whole) * x) == [VARYING]


def test_what_is_reduced_into_parts_to_save_work_counts_as_whole():
    x = square()
    whole, total = place(x, ALL), from_local(x, (("a", 2, Partial()),))
    made = product(total, whole)

    assert types_of(made) != [VARYING]
    assert types_of(product(made, x), product(x, made)) == [VARYING, VARYING]


def test_collectives_end_it_along_their_axis_alone():
    x = square()
    made = [all_reduce(x, "a", 2), all_gather(x, 0, "a", 2), reduce_scatter(x, 0, "a", 2)]

    assert types_of(*made) == [REPLICATED, REPLICATED, VARYING]
    assert types_of(all_reduce(x, "b", 2), all_reduce(x, "others", 3)) == [VARYING, VARYING]
    assert types_of(all_reduce(place(x, ALL), "b", 2)) == [REPLICATED]


def test_a_layout_says_that_a_value_is_whole_and_each_ranks_own():
    x = square()

    assert types_of(from_local(x, ALL), from_local(x, ALL, varies=("a",))) == [REPLICATED, VARYING]


def test_a_lookup_by_own_positions_leaves_its_table_split():
    x = square()
    positions = x.arena.input((3,), int64, "positions")
    (found,) = types_of(gather("ij,k->kj", place(x, ROWS), positions))

    assert found != VARYING


def test_a_plan_that_takes_what_varies_for_alike_is_refused():
    x = square()
    y = x + x
    plan = {x: Strategy((), VARYING), y: Strategy((VARYING, VARYING), REPLICATED)}

    with pytest.raises(AssertionError, match=r"add .* of what varies over 'a' is R|map .* is R"):
        check_varying(plan, ACROSS)
