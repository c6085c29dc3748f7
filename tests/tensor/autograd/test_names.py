"""What gn.autograd offers beside the engine."""

from __future__ import annotations

import gnomon as gn


def test_a_variable_is_a_tensor_that_shares_values():
    x = gn.ones(2)
    v = gn.autograd.Variable(x, requires_grad=True)

    v.sum().backward()

    assert isinstance(x, gn.autograd.Variable)
    assert v.grad.tolist() == [1.0, 1.0]
    assert not x.requires_grad
