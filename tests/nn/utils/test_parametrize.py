"""Parameters that modules compute."""

from __future__ import annotations

import copy

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.nn.utils import parametrize


class Symmetric(nn.Module):
    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: gn.Tensor) -> gn.Tensor:
        return x.triu()


class Doubled(nn.Module):
    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return 2 * x


def test_a_parameter_is_computed_from_its_original():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())

    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert (layer.weight == layer.weight.T).all()
    layer(gn.ones(2, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tril(-1).tolist() == [[0.0] * 3] * 3


def test_what_is_assigned_goes_to_the_original():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())

    layer.weight = gn.tensor([[1.0, 2.0], [2.0, 3.0]])

    assert layer.parametrizations.weight.original.tolist() == [[1, 2], [0, 3]]
    assert layer.weight.tolist() == [[1, 2], [2, 3]]


def test_several_follow_one_another():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    before = layer.weight.detach()

    parametrize.register_parametrization(layer, "weight", Doubled())

    assert (layer.weight == 2 * before).all()
    assert copy.deepcopy(layer).weight.tolist() == layer.weight.tolist()


def test_a_parameter_can_be_made_plain_again():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    value = layer.weight.tolist()

    parametrize.remove_parametrizations(layer, "weight")

    assert type(layer) is nn.Linear
    assert not parametrize.is_parametrized(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert layer.weight.tolist() == value
    with pytest.raises(ArgumentError, match="has no parameter 'gain'"):
        parametrize.register_parametrization(layer, "gain", Symmetric())


def test_inside_cached_a_parameter_is_computed_once():
    calls = []

    class Doubled(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 2

    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    calls.clear()
    with parametrize.cached(), parametrize.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    assert layer.weight is not layer.weight
    twice = parametrize.cached()(lambda: layer.weight is layer.weight)
    assert twice()
    assert twice()
    assert len(calls) == 5
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
