"""Lazy layers become plain ones at their first input, with the same parameters."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, CheckpointError
from gnomon.nn.lazy_layers import LazyModuleMixin, channel_axis

LAZY = sorted(
    x for x in dir(nn) if x.startswith("Lazy") and issubclass(getattr(nn, x), LazyModuleMixin)
)


def model() -> nn.Module:
    """One of each kind, one after another."""
    layers = (nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))
    return nn.Sequential(*layers)


X = gn.arange(2.0 * 3 * 6 * 6).reshape(2, 3, 6, 6).sin()


@pytest.mark.parametrize("name", LAZY)
def test_the_first_input_makes_it_a_plain_layer(name):
    kind = getattr(nn, name)
    rank = 2 if name == "LazyLinear" else int(name[-2]) + 2
    settings = () if "Norm" in name else (5,) if name == "LazyLinear" else (5, 2)
    gn.manual_seed(0)
    layer = kind(*settings)
    parameters = list(layer.parameters())
    x = gn.ones(2, 3, *(4,) * (rank - 2))

    made = layer(x)

    assert type(layer) is kind.cls_to_become
    assert all(a is b for a, b in zip(parameters, layer.parameters(), strict=True))
    gn.manual_seed(0)
    size = x.shape[channel_axis(kind.cls_to_become, x)]
    plain = kind.cls_to_become(size, *settings, **kind.OWN)
    assert plain(x).equal(made)
    assert repr(plain) == repr(layer)
    assert vars(plain).keys() == vars(layer).keys()


def test_before_it_there_are_no_shapes_and_the_message_says_what_to_do():
    layer = nn.LazyLinear(3)

    assert layer.has_uninitialized_params()
    with pytest.raises(ArgumentError, match="no shape before the first call"):
        _ = layer.weight.shape


def test_an_optimizer_that_was_there_before_trains_it():
    net = model().double()
    sgd = gn.optim.SGD(net.parameters(), lr=0.1)

    before = net(X.double()).sum()
    before.backward()
    sgd.step()

    assert net[0].weight.dtype is gn.float64
    assert net[1].running_mean.dtype is gn.float64
    assert net(X.double()).sum().item() < before.item()


def test_states_go_into_lazy_layers_and_out_of_them():
    net, lazy = model(), model()
    twin = copy.deepcopy(lazy)
    assert lazy.load_state_dict(twin.state_dict()).missing_keys == []
    net(X)
    net.eval()

    lazy.load_state_dict(net.state_dict())

    assert not lazy[0].has_uninitialized_params()
    assert lazy.eval()(X).equal(net(X))
    assert lazy[3].in_features == 64
    assert twin[3].has_uninitialized_params()


def test_a_compiled_model_may_be_lazy():
    net = model()
    compiled = gn.compile(net)

    made = [compiled(X) for _ in range(3)]

    assert type(net[0]) is nn.Conv2d
    for y in made:
        np.testing.assert_allclose(y.detach().numpy(), net(X).detach().numpy(), atol=1e-6)


def test_a_module_of_ones_own_may_take_its_shapes_from_the_first_input():
    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self, complete=True):
            super().__init__()
            self.complete = complete
            self.weight, self.bias = nn.UninitializedParameter(), nn.UninitializedParameter()

        def initialize_parameters(self, x):
            self.weight.materialize(x.shape[-1])
            if self.complete:
                self.bias.materialize(x.shape[-1:])

        def forward(self, x):
            return x * self.weight + self.bias

    layer = Scale()

    assert layer(gn.ones(2, 3)).tolist() == [[0.0] * 3] * 2
    assert type(layer) is Scale
    assert not layer._forward_pre_hooks
    with pytest.raises(ArgumentError, match="without shapes behind"):
        Scale(complete=False)(gn.ones(2, 3))


def test_a_lazy_layer_is_pickled_before_its_first_call_and_behind_it():
    layer = pickle.loads(pickle.dumps(nn.LazyLinear(4)))

    assert layer.has_uninitialized_params()
    assert layer(gn.ones(2, 3)).shape == (2, 4)
    assert type(pickle.loads(pickle.dumps(layer))) is nn.Linear


def test_states_of_lazy_layers_do_not_go_into_plain_ones():
    plain = nn.Linear(5, 3)
    before = plain.weight.tolist()

    with pytest.raises(CheckpointError, match="weight: the state's is uninitialized"):
        plain.load_state_dict(nn.LazyLinear(3).state_dict())

    assert plain.weight.tolist() == before
