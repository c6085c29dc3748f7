"""SparseAdam is there by name, and says what to use."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError


def test_dense_gradients_are_refused():
    p = gn.ones(2, requires_grad=True)
    optimizer = optim.SparseAdam([p])
    optimizer.step()
    p.sum().backward()
    with pytest.raises(ArgumentError, match="SparseAdam: needs sparse gradients"):
        optimizer.step()
    assert p.tolist() == [1.0, 1.0]
