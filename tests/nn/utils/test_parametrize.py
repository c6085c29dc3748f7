"""Parameters that modules compute."""

from __future__ import annotations

import copy
import pickle

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
    with pytest.raises(ArgumentError, match="has no parameter or buffer 'gain'"):
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


class Halves(nn.Module):
    """Two originals for a parameter."""

    def forward(self, x: gn.Tensor, y: gn.Tensor) -> gn.Tensor:
        return x + y

    def right_inverse(self, x: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
        return x / 2, x / 2


class Turned(nn.Module):
    def forward(self, x: gn.Tensor) -> gn.Tensor:
        return x.mT


def test_a_buffer_is_computed_too():
    layer = nn.BatchNorm1d(2)
    parametrize.register_parametrization(layer, "running_var", Doubled())

    assert layer.running_var.tolist() == [2, 2]
    assert "parametrizations.running_var.original" in dict(layer.named_buffers())
    parametrize.remove_parametrizations(layer, "running_var")
    assert [*dict(layer.named_buffers())] == ["running_mean", "num_batches_tracked", "running_var"]
    assert layer.running_var.tolist() == [2, 2]


@pytest.mark.parametrize("function", [Doubled(), Symmetric()])
def test_an_optimizers_parameter_stays_the_object_that_it_is(function: nn.Module):
    layer = nn.Linear(2, 2)
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", function)
    value = layer.weight.tolist()
    assert layer.parametrizations.weight.original is weight

    parametrize.remove_parametrizations(layer, "weight")

    assert layer.weight is weight
    assert layer.weight.tolist() == value


def test_a_function_is_in_the_mode_of_its_module():
    function = Doubled()
    parametrize.register_parametrization(nn.Linear(2, 2).eval(), "weight", function)
    assert not function.training


def test_several_originals_cannot_be_left_alone():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Halves())
    names = [*layer.state_dict()][1:]
    assert names == [f"parametrizations.weight.original{k}" for k in (0, 1)]
    with pytest.raises(ArgumentError, match="computed from 2 tensors"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)


@pytest.mark.parametrize("before", [[], [Doubled()]])
def test_a_function_that_changes_the_shape_is_refused(before: list[nn.Module]):
    layer = nn.Linear(2, 3)
    for function in before:
        parametrize.register_parametrization(layer, "weight", function)

    with pytest.raises(ArgumentError, match=r"keeps the shape and dtype.* got .* of \(2, 3\)"):
        parametrize.register_parametrization(layer, "weight", Turned())
    parametrize.register_parametrization(layer, "weight", Turned(), unsafe=True)
    assert layer.weight.shape == (2, 3)


def test_a_parametrized_module_is_not_pickled():
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled())
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)


@pytest.mark.parametrize("function", [Symmetric(), Halves()])
def test_parametrizations_and_values_go_to_another_module(function: nn.Module):
    first = parametrize.register_parametrization(nn.Linear(2, 2), "weight", function)
    second = nn.Linear(2, 2)

    parametrize.transfer_parametrizations_and_params(first, second)

    assert second.weight.tolist() == first.weight.tolist()
    assert second.parametrizations.weight[0] is function
