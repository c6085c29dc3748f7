"""Copies of tensors with other parts, and tensors of other sizes."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ShapeError


def test_elements_at_equal_distances_are_numpys():
    x = np.arange(12.0)

    made = gn.as_strided(gn.tensor(x), (2, 3), (1, 2), 1)

    step = x.itemsize
    wanted = np.lib.stride_tricks.as_strided(x[1:], (2, 3), (step, 2 * step))
    np.testing.assert_array_equal(made.numpy(), wanted)


def test_a_part_is_replaced_and_gradients_pass_both_ways():
    x, y = gn.ones(2, 3, requires_grad=True), gn.ones(2, requires_grad=True)

    made = x.select_scatter(y * 5, 1, 1)
    made.sum().backward()

    assert made.tolist() == [[1, 5, 1]] * 2
    assert x.grad.tolist() == [[1, 0, 1]] * 2
    assert y.grad.tolist() == [5, 5]


def test_a_part_of_another_shape_is_refused():
    with pytest.raises(ShapeError, match="slice_scatter: src must be"):
        gn.slice_scatter(gn.zeros(4), gn.ones(3), 0, 0, 2)
    with pytest.raises(ShapeError, match="sum_to_size"):
        gn.ones(2, 3).sum_to_size(2, 2)
    with pytest.raises(ShapeError, match="dsplit"):
        gn.dsplit(gn.ones(2, 3), 2)


def test_a_tensor_takes_another_size():
    x = gn.tensor([1.0, 2.0, 3.0])

    assert x.resize_(2, 2).tolist() == [[1, 2], [3, 0]]
    assert x.resize_as_(gn.zeros(2)).tolist() == [1, 2]
    assert x.new([1, 2]).dtype is gn.float32
    assert tuple(x.new(2, 3).shape) == (2, 3)


def test_a_function_of_pythons_is_applied():
    x = gn.tensor([1.0, 2.0])

    assert x.apply_(lambda v: v + 1).tolist() == [2.0, 3.0]
    assert x.map_(gn.tensor([5.0, 6.0]), lambda a, b: b - a).tolist() == [3.0, 3.0]
