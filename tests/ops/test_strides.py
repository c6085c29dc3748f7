"""Strides by themselves: forms, overlaps, and shapes that they show."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.ops.strides import StridedView, form_of, overlaps, reshaped, strides_of
from tests import drawn as st
from tests.drawn import given

pytestmark = pytest.mark.unit


@st.composite
def layouts(draw):
    """Places that views of views could have."""
    rank = draw(st.integers(0, 4))
    shape = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    strides = tuple(draw(st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 24, -1])) for _ in range(rank))
    return StridedView(shape, 0, strides)


@given(layouts())
def test_strides_of_a_form_have_this_form(laid):
    form = form_of(laid)

    if form is not None:
        own = StridedView(laid.shape, 0, strides_of(form, laid.shape))
        assert form_of(own) in (form, None)


@given(layouts())
def test_overlapping_places_are_found(laid):
    places = np.zeros((), np.int64)
    for n, step in zip(laid.shape, laid.strides, strict=True):
        places = places[..., None] + np.arange(n) * step

    assert overlaps(laid) == (len(np.unique(places)) < places.size)


def test_sizes_of_one_have_any_stride():
    assert reshaped(StridedView((2, 1, 3), 0, (3, 77, 1)), (6,)) == StridedView((6,), 0, (1,))
    assert reshaped(StridedView((), 5, ()), (1, 1)) == StridedView((1, 1), 5, (1, 1))
    assert reshaped(StridedView((0, 3), 0, (3, 1)), (3, 0)) == StridedView((3, 0), 0, (1, 1))
