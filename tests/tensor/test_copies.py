"""Shallow copies share memory, and deep ones nothing."""

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


def test_class_and_attributes_come_along_and_gradients_of_plain_tensors():
    x, z = nn.Parameter(gn.ones(2)), gn.ones(2, requires_grad=True)
    (x * z * 3).sum().backward()
    x.note = "kept"

    y, plain = copy.deepcopy((x, z))

    assert isinstance(y, nn.Parameter)
    assert y.note == "kept"
    assert y.grad is None
    assert plain.grad.tolist() == [3.0, 3.0]
    assert plain.grad is not z.grad


def test_a_result_of_operations_cannot_be_copied_deeply():
    with pytest.raises(GradientError, match="graph leaves"):
        copy.deepcopy(gn.ones(1, requires_grad=True) * 2)


def test_a_shallow_copy_is_a_leaf_over_the_same_memory():
    x = nn.Parameter(gn.ones(2, 3))
    x.note = "kept"
    (x * 3).sum().backward()

    for source in (x, (x * 1)[:, 1:], x.detach().t()):
        y = copy.copy(source)
        with gn.no_grad():
            y.fill_(7.0)
        assert (source == 7).all()
        assert (type(y), y.requires_grad, y.is_leaf) == (type(source), source.requires_grad, True)
        assert y.grad is None
    assert copy.copy(x).note == "kept"


def test_gradients_gather_in_the_copy_alone():
    x = gn.ones(2, requires_grad=True)
    y = copy.copy(x)

    (y * 5).sum().backward()

    assert y.grad.tolist() == [5, 5]
    assert x.grad is None


def test_a_shallow_copy_of_complex_numbers_shares_them():
    x = gn.tensor([1 + 2j])

    copy.copy(x).zero_()

    assert x.tolist() == [0]


def test_deep_copies_of_what_shares_memory_share_memory_of_their_own():
    x = gn.arange(6.0).reshape(2, 3)
    y, row, turned = copy.deepcopy((x, x[1], x.detach().t()))
    row.fill_(7)

    assert y.tolist() == [[0, 1, 2], [7, 7, 7]]
    assert turned.tolist() == [[0, 7], [1, 7], [2, 7]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (turned._is_view(), turned.stride()) == (False, (1, 3))


def test_tied_weights_stay_tied_in_a_copied_state():
    layers = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    layers[1].weight = layers[0].weight
    state = copy.deepcopy(layers.state_dict())
    state["0.weight"].fill_(3)

    assert state["1.weight"].tolist() == [[3, 3], [3, 3]]
    assert layers[0].weight.tolist() != [[3, 3], [3, 3]]
