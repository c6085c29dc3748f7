"""What products take along: pointwise nodes whose other operands are there, where bytes shrink."""

from __future__ import annotations

import pytest

from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ops.primitives import contract, reduce, reshape, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import permute
from gnomon.schedule.cluster import MEMBERS, has_epilogue
from gnomon.schedule.epilogue import epilogue_of, is_plain, table_of
from gnomon.schedule.fusion import Fusion
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import partition_of
from gnomon.schedule.placed import Placed
from tests.schedule.kernels_of import graph, leaf
from tests.schedule.waiting import waits_for

pytestmark = pytest.mark.unit


def product(spec: str = "ab,cb->ac", *shapes: tuple[int, ...]) -> Node:
    """A product of two leaves."""
    first, second = shapes or ((40, 30), (50, 30))
    x = leaf(*first)
    return contract(spec, x, x.arena.input(second, x.dtype))


def fused(*roots: Node) -> Placed:
    """The partition in which every product may carry an epilogue."""
    return partition_of(graph(*roots), carries=lambda node: True)


def beside(like: Node, *shape: int) -> Node:
    """Another leaf."""
    return like.arena.input(shape, like.dtype)


def test_an_activation_is_computed_with_the_product():
    c = product()
    y = exp(c + beside(c, 50)) * 0.5

    made = fused(y)

    (cluster,) = made.clusters
    assert has_epilogue(cluster)
    assert list(made.stored) == [y]


def test_operands_that_are_read_many_times_are_looked_at_once():
    c = product()
    mask = beside(c, 40, 50)
    for _ in range(60):
        mask = mask + mask

    made = fused(c * mask)

    (cluster,) = made.clusters
    assert len(cluster.members) == 62


def test_sums_that_others_read_are_stored_too():
    c = product()
    y, back = exp(c), permute(c, (1, 0))

    made = fused(y, reduce("add", exp(back), (1,)))

    assert {c, y} <= set(made.stored)


def test_a_residual_is_added_before_its_norm():
    c = product()
    x = c + beside(c, 40, 50)
    total = unsqueeze(reduce("add", x * x, (1,)), 1)

    made = fused(x, x / total)

    assert made.home[x] is made.home[c]
    assert len(made.clusters) == 2


def test_rows_sums_stay_apart():
    c = product()
    y = c / unsqueeze(reduce("add", c, (1,)), 1)

    assert not any(has_epilogue(cluster) for cluster in fused(y).clusters)


def test_what_waits_for_a_later_product_stays_apart_from_the_earlier():
    first = product("ab,cb->ac", (40, 40), (40, 40))
    second = contract("ab,cb->ac", first, first)
    y = first * second

    made = fused(y)

    assert made.home[y] is made.home[second]
    assert made.home[y] is not made.home[first]
    assert not any(c in c.needs or waits_for(c.needs, c) for c in made.clusters)


def test_a_gate_is_opened_with_the_later_of_two_products():
    x = leaf(40, 30)
    v, w = (x.arena.input((50, 30), x.dtype) for _ in range(2))
    gate, up = contract("ab,cb->ac", x, v), contract("ab,cb->ac", x, w)
    opened = exp(gate)
    y = opened * gate * up

    made = fused(y)

    assert made.home[y] is made.home[up]
    assert made.home[opened] is made.home[up]
    assert len(made.clusters) == 2


def test_a_result_in_another_layout_stays_apart():
    c = product()
    y = permute(c, (1, 0)) + beside(c, 50, 40)

    assert not any(has_epilogue(cluster) for cluster in fused(y).clusters)


def test_a_refusal_says_why():
    c = product()
    y = c + beside(c, 40, 50) + beside(c, 40, 50)

    (refused,) = (f for f in Notes(fused(y)).products if f.refused)

    assert isinstance(refused, Fusion)
    assert refused.refused == "reads 2 operands of its size"
    assert refused.together < refused.apart


def test_nothing_is_weighed_when_no_product_carries():
    c = product()

    assert Notes(partition_of(graph(exp(c)))).products == []


def test_rows_of_all_batches_count_and_columns_are_those_of_one_factor():
    c = product("hbc,hdc->hbd", (3, 40, 30), (3, 50, 30))
    turned = product("ab,cb->ca")

    assert table_of(c) == (120, 50)
    assert table_of(turned) == (50, 40)


def test_an_epilogue_is_a_loop_kernel_over_rows_and_columns():
    c = product()
    y = c * beside(c, 50)

    made = epilogue_of(c, [y], {y: None})

    assert [r.params["size"] for r in made.kernel.rows] == [40]
    assert made.kernel.inner.params["size"] == 50
    assert made.buffers[0] is y
    assert is_plain(made.kernel)


def test_a_product_takes_no_more_than_a_kernel_holds():
    c = product()
    y = c
    for _ in range(300):
        y = exp(y) * 0.5

    made = fused(y)

    assert all(len(cluster.members) <= MEMBERS + 1 for cluster in made.clusters)


def test_a_product_takes_nothing_that_its_readers_compute_again():
    c = product("ab,cb->ac", (9, 30), (64, 30))
    y = elementwise("sigmoid", c)

    def total(shape: tuple[int, int]) -> Node:
        return reduce("add", reshape(y, shape) * reshape(c, shape), (1,))

    made = fused(total((1, 576)), total((2, 288)), c)

    assert y not in made.home
    assert not has_epilogue(made.home[c])
