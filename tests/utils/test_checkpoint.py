"""Checkpointed parts of a model give the same values and gradients."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.utils.checkpoint import checkpoint, checkpoint_sequential


def test_values_and_gradients_are_the_functions_own():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = gn.rand(5, 3)

    plain = model(x)
    (wanted,) = gn.autograd.grad(plain.sum(), [model[0].weight])
    kept = checkpoint(model, x, use_reentrant=False)
    kept.sum().backward()

    assert kept.tolist() == plain.tolist()
    assert model[0].weight.grad.tolist() == wanted.tolist()
    assert checkpoint_sequential(model, 2, x).tolist() == plain.tolist()


def test_parts_are_not_more_than_functions():
    with pytest.raises(ArgumentError, match="do not fall into 3 parts"):
        checkpoint_sequential([abs, abs], 3, 1)
