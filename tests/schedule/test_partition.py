"""Which nodes share a kernel, and which are stored; that no value changes is tested elsewhere."""

from __future__ import annotations

import pytest

from gnomon.dtypes import bool_, int64, uint32, uint64
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops import random
from gnomon.ops.primitives import contract, expand, reduce, reshape, unsqueeze
from gnomon.ops.scalars import exp, where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_
from gnomon.passes.inline import inline
from gnomon.schedule.cluster import DEEP
from gnomon.schedule.partition import partition_of
from tests.schedule.kernels_of import kernels, leaf, partition, softmax
from tests.schedule.waiting import waits_for

pytestmark = pytest.mark.unit


def test_elementwise_steps_are_one_kernel_and_store_only_the_result():
    x = leaf(5, 7)
    y = exp(x * 2.0 + 1.0) * x

    made = partition(y)

    assert list(made.stored) == [y]
    assert len(kernels(y)) == 1


def test_softmax_is_one_kernel():
    assert len(kernels(softmax(leaf(3, 5, 7)))) == 1


def test_nothing_is_joined_when_fusion_is_off():
    x = leaf(3, 7)

    assert len(kernels(softmax(x), without="fuse")) > len(kernels(softmax(x)))


def test_every_operation_is_a_kernel_of_its_own_when_fusion_is_off():
    x = leaf(5, 7)
    y = reduce("add", exp((x * 2.0 + 1.0) * x), (0,))

    assert len(kernels(y, without="fuse")) == 5
    assert len(kernels(y)) < 5


def test_a_cheap_value_is_computed_by_each_who_needs_it():
    x = leaf(5, 7)
    cheap = x * 2.0
    columns, rows = reduce("add", cheap, (0,)), reduce("add", cheap, (1,))

    assert cheap not in partition(columns, rows).stored


def test_a_costly_number_with_several_readers_is_stored_once():
    number = leaf(1)
    x, y = (number.arena.input(shape, number.dtype) for shape in ((5, 3), (2, 7)))
    power = exp(number) * 2.0
    spread = [expand(reshape(power, (1, 1)), z.shape) for z in (x, y)]

    made = partition(x * spread[0], y * spread[1])

    assert power in made.stored
    assert power not in partition(x * spread[0]).stored


def test_a_costly_value_with_readers_elsewhere_is_stored_once():
    x = leaf(5, 7)
    costly = exp(x)
    columns, turned = reduce("add", costly, (0,)), permute(costly, (1, 0)) * 2.0

    assert costly in partition(columns, turned).stored


def test_what_a_product_reads_is_stored_below_its_views():
    x = leaf(5, 7)
    base = exp(x)
    turned = permute(base, (1, 0))
    y = contract("ab,bc->ac", turned, reshape(exp(x * 2.0), (5, 7)))

    stored = partition(y).stored

    assert base in stored
    assert turned not in stored


def test_a_view_that_is_a_result_is_stored():
    x = leaf(5, 7)
    y = permute(x, (1, 0))

    assert list(partition(y).stored) == [y]


def test_an_input_is_never_stored():
    x = leaf(5, 7)

    assert not partition(x).stored


def test_opaque_calls_stand_alone():
    x = leaf(5, 7)
    y = scan("add", exp(x), 1) * 2.0
    clusters = partition(y).ordered()

    (alone,) = (c for c in clusters if c.opaque)
    assert len(alone.members) == 1


def test_clusters_come_after_those_that_they_need():
    x = leaf(5, 7)
    hidden = scan("add", exp(x), 1)
    y = scan("max", hidden * x, 0) + hidden

    order = partition(y).ordered()

    for k, cluster in enumerate(order):
        assert all(order.index(x) < k for x in order if waits_for([cluster], x))


def test_a_cluster_never_needs_itself_through_another():
    x = leaf(5, 7)
    e = exp(x)
    through = scan("add", e, 1)
    y = e * through

    made = partition(y)

    assert made.home[y] is not made.home[e]


def test_chains_over_one_range_share_a_kernel():
    x = leaf(40, 7)
    sums: list[Node] = [reduce("add", x, (0,)), reduce("max", x, (0,)), reduce("add", x * x, (0,))]

    assert len(kernels(*sums)) == 1


def test_a_row_value_is_fused_into_the_rows_that_it_scales():
    x = leaf(5, 7)
    mean = reduce("add", x, (1,)) * (1 / 7)

    assert len(kernels(x - unsqueeze(mean, 1))) == 1


def test_the_parts_of_a_join_are_written_into_it():
    x = leaf(40, 64)
    turn = x.arena.input((40, 32), x.dtype)
    low, high = (slice_(x, ((0, 40, 1), (k, k + 32, 1))) for k in (0, 32))
    first, second = low * turn - high, high * turn + low
    left = pad(first, (0, 0), (0, 32), 0.0, (0, 0))
    right = pad(second, (0, 32), (0, 0), 0.0, (0, 0))
    column = x.arena.node("iota", (), size=64, dtype=int64)
    here = elementwise("lt", reshape(column, (1, 64)), 32)

    made = partition(where(here, left, right))

    assert first not in made.stored
    assert second not in made.stored


def test_kernels_are_cut_where_expressions_grow_too_deep():
    x = leaf(5, 7)
    y = x
    for _ in range(500):
        y = y * 1.5 + 0.5

    made = partition(y)

    assert max(cluster.depth for cluster in made.clusters) <= DEEP
    assert len(kernels(y)) > 5


def test_views_of_views_are_kept_where_they_grow_too_deep():
    x = leaf(6, 4)
    y = x
    for _ in range(150):
        y = reshape(permute(y, (1, 0)), (6, 4))

    assert len(kernels(exp(y))) > 1


def test_what_is_narrower_is_stored_in_place_of_what_it_is_made_of():
    x = leaf(64, 64)
    key = x.arena.input((2,), uint32)
    mask = random.bernoulli(key, 0.5, (64, 64))
    shared = inline(
        Graph([x, key], [where(mask, x, 0.0), reduce("add", where(mask, x, 1.0), (0,))]),
        lambda node: False,
    )

    made = partition_of(shared)

    assert bool_ in {node.dtype for node in made.stored}
    assert uint64 not in {node.dtype for node in made.stored if node.size > 1}
