"""Why nodes share a kernel, or do not, is told for every value and each of its readers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gnomon.ir.node import Node
from gnomon.ops.primitives import contract, reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import permute
from gnomon.schedule import cluster, epilogue, join, notes, rematerialization
from gnomon.schedule.cluster_order import ClusterOrder
from gnomon.schedule.fusion import Fusion
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import partition_of
from tests.schedule.kernels_of import graph, leaf, softmax

pytestmark = pytest.mark.unit


def decided(*roots: Node, carries: Callable[[Node], bool] | None = None) -> list[Fusion]:
    """All decisions about a program of these results."""
    return list(Notes(partition_of(graph(*roots), carries=carries)).decisions())


def refusal(found: list[Fusion], maker: Node, reader: Node) -> str:
    """Why a reader is not computed with what it reads."""
    (reason,) = (x.refused for x in found if x.maker is maker and reader in x.nodes)
    return reason


def test_a_value_that_only_its_kernel_reads_moves_no_bytes():
    x = leaf(30, 7)
    y = softmax(x)

    found = decided(y)

    assert {each.kind for each in found} == {"join"}
    assert not any(each.refused or each.together for each in found)
    assert all(each.apart == 2 * 4 * each.maker.size for each in found)


def test_a_value_that_is_stored_in_any_case_is_written_and_not_read():
    x = leaf(30, 7)
    e = exp(x)
    y = exp(e)

    (found,) = decided(e, y)

    assert (found.apart, found.together, found.refused) == (2 * 840, 840, "")


def test_other_rows_and_columns_are_named():
    x = leaf(30, 7)
    e = exp(x)
    sums = reduce("add", e, (0,))

    assert refusal(decided(sums, e), e, sums) == cluster.SPACE


def test_a_value_that_is_read_elsewhere_is_named():
    x = leaf(7, 7)
    e = exp(x)
    y = exp(permute(e, (1, 0)))

    found = [each for each in decided(y, e) if each.kind == "join"]

    assert refusal(found, e, y) == cluster.ELSEWHERE


def test_a_kernel_in_between_is_named():
    x = leaf(5, 7)
    e = exp(x)
    through = scan("add", e, 1)
    y = e * through
    found = [each for each in decided(y) if each.kind == "join"]

    assert refusal(found, e, y) == cluster.LATER
    assert refusal(found, e, through) == cluster.READ
    assert refusal(found, through, y) == notes.MADE


def test_a_product_that_carries_nothing_is_named():
    x = leaf(40, 30)
    c = contract("ab,bc->ac", x, x.arena.input((30, 50), x.dtype))
    y = exp(c)

    assert refusal(decided(y), c, y) == notes.SUMS


def test_what_folds_the_rows_of_a_product_is_named():
    x = leaf(40, 30)
    c = contract("ab,bc->ac", x, x.arena.input((30, 50), x.dtype))
    total = reduce("add", c, (1,))
    y = c / unsqueeze(total, 1)

    found = decided(y, carries=lambda node: True)

    assert refusal(found, c, total) == epilogue.FOLDS


def test_an_operand_that_comes_too_late_for_a_product_is_named():
    x = leaf(40, 40)
    first = contract("ab,bc->ac", x, x.arena.input((40, 40), x.dtype))
    second = contract("ab,bc->ac", first, first)
    y = first * second

    found = decided(y, carries=lambda node: True)

    assert refusal(found, first, y) == epilogue.AFTER


def test_an_operand_of_two_is_read_once_or_it_is_said_why_not():
    g = leaf(300, 7)
    first, second = (g.arena.input((300, 7), g.dtype) for _ in range(2))
    together = decided(first + g * 0.1, second * 0.9 + g * g)
    e = exp(g)
    apart = decided(e, scan("add", e, 1) * g)

    shared = [x for x in together if x.kind == "share"]
    assert [(x.refused, x.apart, x.together) for x in shared] == [("", 2 * 8400, 8400)]
    assert [x.refused for x in apart if x.kind == "share"] == [cluster.LATER]


def test_chains_are_named_when_they_keep_an_operand_from_being_shared():
    g = leaf(30, 7)
    y, sums = exp(g), reduce("add", g, (0,))

    wide = partition_of(graph(y, sums))
    wide.home[sums].rows, wide.home[sums].inner = 30, 7

    order = ClusterOrder(wide.ordered())
    why = join.why_apart(wide.home[y], wide.home[sums], wide.home, wide.reads, order)
    assert why == join.CHAINS


def test_what_is_costly_is_not_made_again():
    x = leaf(5, 7)
    w = x.arena.input((7, 7), x.dtype)
    costly = exp(x)
    first = contract("ab,bc->ac", costly * 2.0, w) * costly
    second = contract("ab,bc->ac", first, w) * costly

    again = [each for each in decided(second) if each.kind == "recompute"]

    assert [each.refused for each in again if each.maker is costly] == [
        rematerialization.COSTLY
    ] * 2


def test_nothing_of_this_is_worked_out_while_a_partition_decides():
    x = leaf(5, 7)

    assert partition_of(graph(softmax(x))).decisions == []
