"""Unpooled elements stand where they were; drawn windows lie in order and reach the end."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn import functional as F
from gnomon.nn.unpooling import window_places


def test_unpooled_elements_stand_where_they_were():
    x = gn.tensor([[[1.0, 4.0, 3.0, 2.0, 9.0]]])
    values, places = nn.MaxPool1d(2, return_indices=True)(x)

    assert nn.MaxUnpool1d(2)(values, places).tolist() == [[[0, 4, 3, 0]]]
    assert nn.MaxUnpool1d(2)(values, places, output_size=(1, 1, 5)).tolist() == [[[0, 4, 3, 0, 0]]]
    assert F.max_unpool1d(values[0], places[0], 2).tolist() == [[0, 4, 3, 0]]
    with pytest.raises(ArgumentError, match="max_unpool1d: output_size is less than a stride away"):
        F.max_unpool1d(values, places, 2, output_size=(9,))


def test_elements_that_meet_have_the_gradient_of_their_place():
    x = gn.tensor([[[1.0, 2.0, 3.0]]], requires_grad=True)

    made = F.max_unpool1d(x, gn.tensor([[[0, 2, 2]]]), 2)
    made.backward(gn.arange(6.0).reshape(1, 1, 6))

    assert made.tolist() == [[[1, 0, 3, 0, 0, 0]]]
    assert x.grad.tolist() == [[[0, 2, 2]]]


def test_drawn_windows_lie_in_order_within_the_axis():
    draws = gn.rand(50, 2, 2)

    found = window_places(draws, (9, 11), (3, 4), (2, 3)).numpy()

    rows, columns = found // 11, found % 11
    assert found.shape == (50, 2, 3, 4, 6)
    assert (rows[:, :, -1].max(), rows.min(), columns.max()) == (8, 0, 10)
    assert (rows[:, :, 1:] > rows[:, :, :-1]).all()
    assert (columns[:, :, :, 1:] > columns[:, :, :, :-1]).all()


def test_a_drawn_pool_needs_one_size_and_planes():
    pool = nn.FractionalMaxPool2d(2, output_size=(2, 3), return_indices=True)
    x = gn.arange(2.0 * 6 * 7).reshape(2, 6, 7)

    values, places = pool(x)

    assert values.shape == (2, 2, 3)
    assert x.flatten(1).gather(1, places.flatten(1)).tolist() == values.flatten(1).tolist()
    with pytest.raises(ArgumentError, match="give one of output_size and output_ratio"):
        F.fractional_max_pool2d(x, 2)
    with pytest.raises(ShapeError, match=r"fractional_max_pool2d: x must be \(n, c, ...\)"):
        F.fractional_max_pool2d(gn.ones(6, 7), 2, 3)
    with pytest.raises(ShapeError, match=r"windows of \(2, 2\) give no \(6, 3\) places"):
        F.fractional_max_pool2d(x, 2, (6, 3))
