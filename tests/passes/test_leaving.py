"""The layout of a program's result follows from what it does with parts, and says who must meet."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.elementwise import multiply
from gnomon.ops.layouts import NO_ROWS, OwnRows, axes_of, from_local, to_local
from gnomon.ops.placements import REPLICATED, Split
from gnomon.ops.reductions import sum as total
from gnomon.ops.view_primitives import permute
from gnomon.passes.divide import divide
from gnomon.passes.leaving import Leaving, leaving

pytestmark = pytest.mark.unit

ROWS, OTHER = (("dp", 2, Split(0)),), (("tp", 2, Split(1)),)


def left(work: Callable[[Node], Node], layout: tuple, rows: OwnRows = NO_ROWS) -> Leaving:
    """How the result of some work on a part lies."""
    arena = Arena()
    x = arena.input((4, 6), float32)
    y = work(from_local(x, layout, rows=rows))
    return leaving(Graph([x], [y]), axes_of(y), ("dp", "tp"))


def test_what_needs_no_message_stays_where_it_is():
    assert left(lambda x: multiply(x, 2.0), ROWS) == Leaving(ROWS, NO_ROWS, False)
    assert left(lambda x: permute(x, (1, 0)), ROWS) == Leaving(
        (("dp", 2, Split(1)),), NO_ROWS, False
    )
    own = OwnRows(("dp",))
    assert left(lambda x: multiply(x, 2.0), ROWS, own) == Leaving(ROWS, own, False)


def test_rows_of_a_gradient_leave_as_such():
    own = OwnRows(("dp",), gradient=True)

    assert left(lambda x: multiply(x, 2.0), ROWS, own) == Leaving(ROWS, own, False)


def test_rows_of_a_batch_that_all_ranks_have_leave_as_such():
    batch = OwnRows(("dp",), given=False)

    assert left(lambda x: multiply(x, 2.0), ROWS, batch) == Leaving(ROWS, batch, False)


def test_a_pending_sum_is_reduced():
    assert left(lambda x: total(x), ROWS) == Leaving((("dp", 2, REPLICATED),), NO_ROWS, True)


def test_mesh_axes_come_in_their_order():
    found = left(lambda x: from_local(x, ROWS), OTHER)

    assert found == Leaving((*ROWS, *OTHER), NO_ROWS, False)


def test_an_axis_of_one_rank_has_a_layout_and_no_message():
    found = left(lambda x: total(x), (("dp", 1, Split(0)),))

    assert found == Leaving((("dp", 1, REPLICATED),), NO_ROWS, False)


def test_one_axis_split_twice_has_the_outer_mesh_axis_outside():
    arena = Arena()
    x = arena.input((4,), float32)
    both = (("dp", 2, Split(0)), ("tp", 2, Split(0)))
    y = to_local(from_local(x, both[1:]), both)

    graph = divide(Graph([x], [y]))

    moved = [node for node in graph if node.op in COLLECTIVES]
    assert [node.params["mesh"] for node in moved] == ["tp"], "its parts are on other ranks"


def test_what_is_a_part_along_an_axis_has_none_there():
    both = (("dp", 2, Split(0)), ("tp", 2, Split(1)))

    assert left(lambda x: to_local(x, OTHER), both) == Leaving(ROWS, NO_ROWS, False, ("tp",))
