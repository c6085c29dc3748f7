"""Left factors that products compute themselves: nobody else reads them, and bytes shrink."""

from __future__ import annotations

import pytest

from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.primitives import contract, reduce, unsqueeze
from gnomon.ops.scalars import exp, rsqrt
from gnomon.ops.view_primitives import permute
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import partition_of
from gnomon.schedule.placed import Placed
from gnomon.schedule.prologue import Factor
from tests.schedule.kernels_of import graph, leaf

pytestmark = pytest.mark.unit


def opened(*roots: Node, refused: str = "") -> Placed:
    """The partition in which every product may compute its first factor."""
    return partition_of(
        graph(*roots),
        carries=lambda node: True,
        opens=lambda node: Factor(node.inputs[0], node.inputs[0].shape[-1], refused),
    )


def weight(x: Node, *shape: int) -> Node:
    """Another leaf."""
    return x.arena.input(shape, float32)


def test_a_factor_that_only_a_product_reads_is_not_stored():
    x = leaf(40, 30)
    factor = x * 2.0 + weight(x, 30)
    y = contract("ab,bc->ac", factor, weight(x, 30, 20))

    made = opened(y)

    (cluster,) = made.clusters
    assert cluster.before == {factor}
    assert list(made.stored) == [y]
    assert [(f.kind, f.refused) for f in Notes(made).products] == [("prologue", "")]


def test_a_cast_is_done_on_the_way():
    x = leaf(40, 30, dtype=bfloat16)
    y = contract("ab,bc->ac", cast(x, float32), weight(x, 30, 20))

    assert list(opened(y).stored) == [y]


def test_a_norm_keeps_its_sums_and_leaves_its_elements_to_the_product():
    x = leaf(40, 128)
    scale = rsqrt(unsqueeze(reduce("add", x * x, (1,)), 1))
    y = contract("ab,bc->ac", x * scale * weight(x, 128), weight(x, 128, 20))

    made = opened(y)

    assert all(node.size in (40, y.size) for node in made.stored)
    assert made.home[y].before
    assert len(made.clusters) == 2


def test_an_epilogue_and_a_prologue_stand_in_one_kernel():
    x = leaf(40, 30)
    factor = x * 2.0 + weight(x, 30)
    c = contract("ab,bc->ac", factor, weight(x, 30, 20))
    y = exp(c)

    made = opened(y)

    (cluster,) = made.clusters
    assert cluster.before == {factor}
    assert made.home[y] is cluster
    assert list(made.stored) == [y]


def test_what_others_read_or_ask_for_is_stored():
    x = leaf(40, 30)
    factor = x * 2.0 + weight(x, 30)
    y, z = (contract("ab,bc->ac", factor, weight(x, 30, 20)) for _ in range(2))
    other = x * 3.0 + weight(x, 30)
    w = contract("ab,bc->ac", other, weight(x, 30, 20))

    made = opened(y, z, w, other)

    assert {factor, other} <= set(made.stored)
    assert Notes(made).products == []


def test_what_takes_long_to_compute_stays_apart():
    x = leaf(40, 30)
    y = contract("ab,bc->ac", exp(x), weight(x, 30, 20))

    (decision,) = Notes(opened(y)).products

    assert "longer to compute" in decision.refused


def test_operands_that_lie_another_way_are_refused():
    x = leaf(30, 40)
    factor = permute(x, (1, 0)) * weight(x, 40, 30) + 1.0
    y = contract("ab,bc->ac", factor, weight(x, 30, 20))

    (decision,) = Notes(opened(y)).products

    assert decision.refused == "its operands have another layout"


def test_many_operands_are_refused():
    x = leaf(40, 30)
    factor = x * weight(x, 40, 30) + weight(x, 40, 30)
    y = contract("ab,bc->ac", factor, weight(x, 30, 20))

    (decision,) = Notes(opened(y)).products

    assert decision.refused in ("saves too little", "reads 3 operands of its size")


def test_a_refusal_of_the_kernel_is_kept():
    x = leaf(40, 30)
    y = contract("ab,bc->ac", x * 2.0 + weight(x, 30), weight(x, 30, 20))

    made = opened(y, refused="why")

    assert [f.refused for f in Notes(made).products] == ["why"]
    assert len(made.stored) == 2
