"""Bins: as many as asked for, each with its elements; of equals the first in memory has all."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.nn import functional as F

pytestmark = pytest.mark.unit


def test_bins_that_do_not_divide_an_axis_share_elements():
    x = gn.arange(5.0).reshape(1, 1, 5)

    assert F.adaptive_avg_pool1d(x, 3).tolist() == [[[0.5, 2.0, 3.5]]]
    assert F.adaptive_max_pool1d(x, 3, return_indices=True)[1].tolist() == [[[1, 3, 4]]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_of_equals_the_first_in_memory_has_the_gradient_and_the_position(count):
    x = gn.zeros(1, 1, *(3,) * count).requires_grad_()
    with gn.no_grad():
        x.flatten()[1:] = 1.0

    values, places = getattr(F, f"adaptive_max_pool{count}d")(x, 1, return_indices=True)
    values.sum().backward()

    assert places.item() == 1
    assert np.flatnonzero(x.grad.numpy()).tolist() == [1]


def test_a_bin_of_the_lowest_alone_has_its_own_first_position():
    lowest = gn.full((1, 1, 4, 6), float("-inf"))

    places = F.adaptive_max_pool2d(lowest, (2, 3), return_indices=True)[1]

    assert places.tolist() == [[[[0, 2, 4], [12, 14, 16]]]]
