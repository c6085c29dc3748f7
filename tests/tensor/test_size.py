"""Shapes stay shapes where they are cut and joined."""

from __future__ import annotations

import pytest

import gnomon as gn

PARTS = {
    "a part": (lambda s: s[1:], (3, 4)),
    "nothing": (lambda s: s[3:], ()),
    "more behind": (lambda s: s.__add__((5,)), (2, 3, 4, 5)),
    "more before": (lambda s: s.__radd__((1,)), (1, 2, 3, 4)),
    "twice": (lambda s: s[:1] * 2, (2, 2)),
    "twice, the number first": (lambda s: 2 * s[:1], (2, 2)),
}


@pytest.mark.parametrize(("part", "wanted"), PARTS.values(), ids=PARTS)
def test_what_is_made_of_a_shape_is_one(part, wanted: tuple):
    found = part(gn.ones(2, 3, 4).shape)

    assert type(found) is gn.Size
    assert found == wanted
    assert found.numel() == gn.ones(wanted).numel()


def test_an_axis_is_a_number_and_lists_do_not_fit():
    shape = gn.ones(2, 3).shape

    assert type(shape[-1]) is int
    with pytest.raises(TypeError):
        shape.__add__([1])
    assert shape.__radd__([1]) is NotImplemented
