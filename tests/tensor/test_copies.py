"""Copies that share nothing with what they were made from."""

from __future__ import annotations

import copy
import pickle

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import GradientError


def test_copies_are_independent():
    x = gn.ones(2, requires_grad=True)

    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.requires_grad
        assert y.tolist() == [1.0, 1.0]
        with gn.no_grad():
            y.zero_()
    assert x.tolist() == [1.0, 1.0]


def test_class_attributes_and_gradients_come_along():
    x = nn.Parameter(gn.ones(2))
    (x * 3).sum().backward()
    x.note = "kept"

    y = copy.deepcopy(x)

    assert isinstance(y, nn.Parameter)
    assert y.note == "kept"
    assert y.grad.tolist() == [3.0, 3.0]
    assert y.grad is not x.grad


def test_a_result_of_operations_cannot_be_copied_deeply():
    with pytest.raises(GradientError, match="graph leaves"):
        copy.deepcopy(gn.ones(1, requires_grad=True) * 2)
