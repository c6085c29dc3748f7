"""x[...] and x[...] = v by the standard: numbers, slices of any step, None, masks, arrays.

numpy is asked, which the standard's rules were taken from. Strides and shared memory are PyTorch's
and stand in tests/tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as shapes

import gnomon as gn

SHAPES = shapes.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)


@st.composite
def indexed(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape, and a basic index of it."""
    shape = draw(SHAPES)
    return shape, draw(shapes.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))


def counted(shape: tuple[int, ...]) -> np.ndarray:
    """An array that tells all its elements apart."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@settings(max_examples=80)
@given(indexed())
def test_reading_is_numpys(case: tuple):
    shape, index = case
    array = counted(shape)

    np.testing.assert_array_equal(np.asarray(gn.asarray(array.copy())[index]), array[index])


@settings(max_examples=80)
@given(indexed())
def test_writing_is_numpys(case: tuple):
    shape, index = case
    array, tensor = counted(shape), gn.asarray(counted(shape), copy=True)
    values = -1 - counted(np.shape(array[index]))

    array[index] = values
    tensor[index] = gn.asarray(values)

    np.testing.assert_array_equal(np.asarray(tensor), array)


@settings(max_examples=30)
@given(st.data())
def test_masks_and_positions_are_numpys(data: Any):
    array = counted(data.draw(shapes.array_shapes(min_dims=1, max_dims=3, max_side=4)))
    mask = data.draw(shapes.arrays(bool, array.shape))
    places = data.draw(shapes.arrays(np.int64, 3, elements=st.integers(0, array.shape[0] - 1)))
    tensor = gn.asarray(array, copy=True)

    np.testing.assert_array_equal(np.asarray(tensor[gn.asarray(mask)]), array[mask])
    np.testing.assert_array_equal(np.asarray(tensor[gn.asarray(places)]), array[places])
    tensor[gn.asarray(mask)] = -1
    array[mask] = -1
    np.testing.assert_array_equal(np.asarray(tensor), array)


def test_a_view_that_runs_backwards_is_written_through():
    x = gn.arange(6)

    tail = x[4:0:-2]
    tail += 10

    assert x.tolist() == [0, 1, 12, 3, 14, 5]


@pytest.mark.parametrize("index", [3, -4, (0, 0), slice(None, None, 0)])
def test_an_index_that_does_not_fit_is_refused(index: Any):
    with pytest.raises((IndexError, ValueError)):
        gn.arange(3)[index]
