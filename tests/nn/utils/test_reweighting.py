"""The older hooks that write a weight."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.nn import utils


def test_a_weight_is_written_before_every_call():
    layer = utils.weight_norm(nn.Linear(3, 2))
    before = layer(gn.ones(1, 3)) - layer.bias

    with gn.no_grad():
        layer.weight_g.mul_(3)

    np.testing.assert_allclose(
        (layer(gn.ones(1, 3)) - layer.bias).tolist(), (3 * before).tolist(), rtol=1e-5
    )
    assert list(layer.state_dict()) == ["bias", "weight_g", "weight_v"]


def test_a_gain_is_followed_in_training_only():
    gn.manual_seed(0)
    layer = utils.spectral_norm(nn.Linear(5, 4, dtype=gn.float64))
    for _ in range(200):
        layer(gn.ones(1, 5, dtype=gn.float64))
    layer.eval()
    kept = layer.weight_u.tolist()
    layer(gn.ones(1, 5, dtype=gn.float64))

    assert layer.weight_u.tolist() == kept
    np.testing.assert_allclose(np.linalg.norm(layer.weight.detach().numpy(), 2), 1, rtol=1e-6)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_the_weight_can_be_a_parameter_again(name: str):
    layer = getattr(utils, name)(nn.Linear(3, 2)).eval()
    value = layer(gn.ones(1, 3)).tolist()

    getattr(utils, f"remove_{name}")(layer)

    assert sorted(layer.state_dict()) == ["bias", "weight"]
    np.testing.assert_allclose(layer(gn.ones(1, 3)).tolist(), value, rtol=1e-5)
    with pytest.raises(ArgumentError, match="nothing computes 'weight'"):
        getattr(utils, f"remove_{name}")(layer)
