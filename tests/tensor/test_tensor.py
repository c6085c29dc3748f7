"""Tensors as views of storages: what is written through one alias is seen by all."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, GradientError


def test_a_write_through_a_view_is_seen_by_its_base_and_by_other_views():
    base = gn.zeros(3, 4)
    row, column, turned = base[1], base[:, 2], base.T

    row.copy_(gn.arange(4))
    column.add_(10)

    expected = np.zeros((3, 4), np.float32)
    expected[1] = np.arange(4)
    expected[:, 2] += 10
    np.testing.assert_array_equal(base.numpy(), expected)
    np.testing.assert_array_equal(turned.numpy(), expected.T)
    np.testing.assert_array_equal(row.numpy(), expected[1])


def test_a_chain_of_views_writes_to_the_right_places(rng):
    base = gn.tensor(rng.standard_normal((2, 3, 4)))
    shown = base.permute(2, 0, 1)[1:, :, ::2].view(-1)

    shown.fill_(7.0)

    expected = base.clone().numpy()
    assert (expected.transpose(2, 0, 1)[1:, :, ::2] == 7).all()
    assert (expected[:, 1, :] != 7).all()
    assert (expected[:, :, 0] != 7).all()


def test_values_read_before_a_write_stay_what_they_were():
    x = gn.ones(3)
    before = x * 2
    x.add_(1)

    assert before.tolist() == [2, 2, 2]
    assert x.tolist() == [2, 2, 2]


def test_a_clone_shares_nothing():
    x = gn.ones(3)
    y = x.clone()
    y.zero_()

    assert x.tolist() == [1, 1, 1]


def test_an_expanded_tensor_refuses_writes():
    with pytest.raises(ArgumentError, match="several places"):
        gn.zeros(1, 3).expand(2, 3).add_(1)


def test_a_leaf_that_wants_gradients_refuses_writes_unless_gradients_are_off():
    x = gn.ones(2, requires_grad=True)

    with pytest.raises(GradientError, match="leaf Variable"):
        x.add_(1)
    with pytest.raises(GradientError, match="view of a leaf"):
        x[0].fill_(2)
    with gn.no_grad():
        x.add_(1)

    assert x.tolist() == [2, 2]
    assert x.is_leaf
    assert x.requires_grad


def test_shapes_and_sizes_say_what_pytorch_says():
    x = gn.zeros(2, 3)

    assert x.shape == (2, 3)
    assert x.shape.numel() == x.numel() == 6
    assert (x.size(), x.size(-1), x.ndim, x.dim(), len(x)) == ((2, 3), 3, 2, 2, 2)
    assert x.is_contiguous()
    assert str(x.device) == "cpu"


def test_data_is_the_same_storage_without_gradients():
    x = gn.ones(2, requires_grad=True)
    x.data.mul_(3)

    assert x.tolist() == [3, 3]
    x.data = gn.zeros(4)
    assert tuple(x.shape) == (4,)
