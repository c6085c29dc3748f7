"""Positions outside an axis: the error names the value, the axis and its size."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import IndexOutOfBounds
from gnomon.nn import functional as F

X = gn.arange(24.0).reshape(2, 3, 4)


def positions(*values: int) -> gn.Tensor:
    return gn.tensor([*values])


CALLS = {
    "one axis": (lambda: X[positions(0, 5)], (5, 0, 2)),
    "from the end": (lambda: X[positions(-7)], (-7, 0, 2)),
    "behind a slice": (lambda: X[:, positions(3)], (3, 1, 3)),
    "the second of two": (lambda: X[positions(0, 0), positions(2, 3)], (3, 1, 3)),
    "axes apart": (lambda: X[positions(1), :, positions(4)], (4, 2, 4)),
    "the first of three": (lambda: X[positions(2), positions(0), positions(0)], (2, 0, 2)),
    "the last of three": (lambda: X[positions(0), positions(0), positions(-5)], (-5, 2, 4)),
    "written": (lambda: gn.index_put(X, (positions(0), positions(3)), gn.ones(4)), (3, 1, 3)),
    "gathered": (lambda: gn.gather(X, 2, gn.full((2, 3, 1), 9)), (9, 2, 4)),
    "selected": (lambda: gn.index_select(X, 1, positions(2, 6)), (6, 1, 3)),
    "added": (lambda: gn.index_add(X, 1, positions(8), gn.ones(2, 1, 4)), (8, 1, 3)),
    "in a table": (lambda: F.embedding(positions(1, -1), X[0]), (-1, 0, 3)),
    "computed": (lambda: X[positions(1) * 2 + 1], (3, 0, 2)),
}


@pytest.mark.parametrize("captured", [False, True], ids=["at once", "compiled"])
@pytest.mark.parametrize("name", CALLS)
def test_a_position_outside_its_axis_is_named_with_axis_and_size(name, captured):
    call, (value, axis, size) = CALLS[name]
    call = gn.compile(call) if captured else call

    with pytest.raises(IndexOutOfBounds, match=rf": {value} for axis {axis} of size {size}\. "):
        call().tolist()


def test_a_place_outside_one_of_two_axes_is_no_place_of_another_row():
    logits, classes = gn.arange(12.0).reshape(3, 4), positions(0, 9)

    with pytest.raises(IndexOutOfBounds, match="9 for axis 1 of size 4"):
        logits[gn.arange(2), classes].tolist()
    assert logits[gn.arange(2), positions(-4, 3)].tolist() == [0.0, 7.0]
