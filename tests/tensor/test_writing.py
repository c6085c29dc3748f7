"""What a write keeps: the tensor's dtype and shape, and who wants gradients."""

from __future__ import annotations

import pytest

import gnomon as gn


def test_a_write_is_cast_and_broadcast_to_its_target():
    x = gn.zeros(2, 3, dtype=gn.int32)
    x.copy_(gn.tensor([1.9, 2.9, -1.9]).to(gn.int64))

    assert x.dtype is gn.int32
    assert x.tolist() == [[1, 2, -1], [1, 2, -1]]


def test_a_write_brings_its_gradient_into_the_storage():
    w = gn.ones(2, requires_grad=True)
    base = gn.zeros(3)
    base[:2].copy_(w * 4)

    assert base.requires_grad
    base.sum().backward()
    assert w.grad.tolist() == [4, 4]


def test_a_whole_write_of_a_plain_value_ends_the_gradient():
    w = gn.ones(2, requires_grad=True)
    x = w * 2
    x.zero_()

    assert not x.requires_grad
    with pytest.raises(RuntimeError):
        x.sum().backward()
