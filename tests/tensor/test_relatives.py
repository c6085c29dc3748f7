"""Tensors of another one's dtype."""

from __future__ import annotations

import gnomon as gn


def test_relatives_of_a_tensor_may_be_leaves():
    x = gn.ones(2, dtype=gn.float64)
    made = [
        x.new_zeros(3, requires_grad=True),
        x.new_ones((3,), requires_grad=True),
        x.new_empty(3, requires_grad=True),
        x.new_full((3,), 2.0, requires_grad=True),
        x.new_tensor([1.0, 2.0, 3.0], requires_grad=True),
    ]

    for leaf in made:
        (leaf * 2).sum().backward()
        assert leaf.dtype is gn.float64
        assert leaf.grad.tolist() == [2, 2, 2]
    assert not x.new_zeros(3).requires_grad
