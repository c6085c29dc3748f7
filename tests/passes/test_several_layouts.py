"""Values that are read in several layouts: all readers are added up at one node."""

from __future__ import annotations

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Node
from gnomon.ops.layouts import from_local, place, to_local
from gnomon.ops.placements import REPLICATED, Split
from gnomon.passes.gradient_paths import GradientPaths
from gnomon.passes.several_layouts import in_several_layouts

WHOLE, ROWS = (("dp", 2, REPLICATED),), (("dp", 2, Split(0)),)


def passed(x: Node, roots: list[Node]) -> set[Node]:
    """The layouts that gradients pass through from the roots to x."""
    return in_several_layouts(GradientPaths(roots, [x]))


def test_a_plain_value_that_is_read_in_the_mesh_too_adds_up_all_readers():
    x = Arena().input((4, 4), float32)
    whole = from_local(x, WHOLE)

    assert passed(x, [whole * whole]) == set()
    assert passed(x, [to_local(whole * 2.0, WHOLE), x * 3.0]) == {whole}


def test_parts_that_are_put_together_are_a_layout_and_no_reader():
    x = Arena().input((2, 4), float32)
    whole = from_local(x, ROWS) * 2.0
    part = to_local(whole, ROWS)
    again = from_local(part, ROWS)

    assert passed(x, [again * 3.0]) == set()
    assert passed(x, [again * 3.0, whole * 5.0]) == {part, again}
    assert passed(x, [again * 3.0, part * 5.0]) == {part, again}


def test_a_redistributed_value_is_that_value():
    x = from_local(Arena().input((2, 4), float32), ROWS) * 2.0
    moved = place(x, WHOLE, back=ROWS)

    assert passed(x.inputs[0], [moved * 3.0, moved * moved]) == set()
    assert passed(x.inputs[0], [moved * 3.0, x * x]) == {moved}
    moved.watch = [lambda: None]
    assert passed(x.inputs[0], [moved * 3.0, x * x]) == set()


def test_rows_and_shares_of_a_mean_stay_where_they_are():
    x = from_local(Arena().input((2, 4), float32), ROWS) * 2.0
    own = place(x, ROWS, stays=True)
    share = to_local(x, WHOLE, shares=2)

    assert passed(x.inputs[0], [own * 3.0, x * x]) == set()
    assert passed(x.inputs[0], [share * 3.0, x * x]) == set()
