"""x[...] and x[...] = v by the standard: numbers, slices of any step, None, masks, arrays.

numpy is asked, which the standard's rules were taken from. Strides and shared memory are PyTorch's
and stand in tests/tensor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gnomon as gn
from tests import drawn as st
from tests.drawn import examples, given


def shapes(min_dims: int, max_side: int) -> st.Strategy:
    """Sizes of up to three axes."""
    return st.lists(st.integers(1 - (min_dims == 0), max_side), min_dims, 3).map(tuple)


@st.composite
def entry(draw: Any, size: int) -> int | slice:
    """A position of an axis, or a slice of it with bounds in and beyond."""
    if size and draw(st.booleans()):
        return draw(st.integers(-size, size - 1))
    bound = st.just(None) | st.integers(-size - 1, size + 1)
    return slice(draw(bound), draw(bound), draw(st.sampled_from((None, 1, 2, 3, -1, -2))))


@st.composite
def indexed(draw: Any) -> tuple[tuple[int, ...], Any]:
    """A shape, and a basic index of it: of some axes, with an ellipsis and new axes."""
    shape = draw(shapes(0, 5))
    known = draw(st.integers(0, len(shape)))
    index = [draw(entry(size)) for size in shape[:known]]
    if draw(st.booleans()):
        ahead = draw(st.integers(0, known))
        behind = shape[len(shape) - (known - ahead) :]
        index = [*index[:ahead], ..., *(draw(entry(size)) for size in behind)]
    for _ in range(draw(st.integers(0, 2))):
        index.insert(draw(st.integers(0, len(index))), None)
    return shape, index[0] if len(index) == 1 and draw(st.booleans()) else tuple(index)


@st.composite
def looked_up(draw: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """An array, a mask of it, and positions along its first axis."""
    array = counted(draw(shapes(1, 4)))
    mask = np.array([draw(st.booleans()) for _ in range(array.size)], bool).reshape(array.shape)
    places = [draw(st.integers(0, array.shape[0] - 1)) for _ in range(3)]
    return array, mask, np.array(places, np.int64)


def counted(shape: tuple[int, ...]) -> np.ndarray:
    """An array that tells all its elements apart."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@examples(80)
@given(indexed())
def test_reading_is_numpys(case: tuple):
    shape, index = case
    array = counted(shape)

    np.testing.assert_array_equal(np.asarray(gn.asarray(array.copy())[index]), array[index])


@examples(80)
@given(indexed())
def test_writing_is_numpys(case: tuple):
    shape, index = case
    array, tensor = counted(shape), gn.asarray(counted(shape), copy=True)
    values = -1 - counted(np.shape(array[index]))

    array[index] = values
    tensor[index] = gn.asarray(values)

    np.testing.assert_array_equal(np.asarray(tensor), array)


@examples(30)
@given(looked_up())
def test_masks_and_positions_are_numpys(case: tuple):
    array, mask, places = case
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
