"""Ragged tensors as objects: what they show, and sizes in steps."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn.ragged import in_steps

pytestmark = pytest.mark.unit


def test_what_it_shows():
    x = gn.nested.nested_tensor([[1.0, 2.0], [3.0]], requires_grad=True)
    assert repr(x) == "NestedTensor(size=(2, j), dtype=gnomon.float32)"
    assert (len(x), x.ndim, x.dim(), x.dtype, x.requires_grad) == (2, 2, 2, gn.float32, True)
    assert x.shape == (2, x.shape[1])
    assert x.shape != gn.nested.nested_tensor([[1.0]]).shape
    assert x.size(0) == 2
    assert str(x.device) == "cpu"
    assert x.is_nested
    assert [part.tolist() for part in x] == [[1.0, 2.0], [3.0]]
    assert x[1].tolist() == [3.0]
    assert x.detach().requires_grad is False
    assert x.longest() == x.most() == 2
    with pytest.raises(AttributeError, match="'NestedTensor' object has no attribute 'nothing'"):
        x.nothing  # noqa: B018


def test_steps_are_eight_in_a_doubling():
    sizes = {in_steps(n) for n in range(65, 129)}
    assert len(sizes) == 8
    assert all(n <= in_steps(n) < n * 1.125 + 1 for n in range(1000))
