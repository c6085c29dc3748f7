"""Weights by length and direction, and weights of gain 1."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon import nn
from gnomon.nn.utils import parametrizations


def test_a_weight_is_its_lengths_times_its_directions():
    layer = nn.Conv2d(2, 3, 2)
    weight = layer.weight.detach().numpy().copy()

    parametrizations.weight_norm(layer)

    kept = layer.parametrizations.weight
    assert kept.original0.shape == (3, 1, 1, 1)
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight, rtol=1e-6)
    with gn.no_grad():
        kept.original0.mul_(2)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * weight, rtol=1e-6)


def test_a_weight_has_a_largest_singular_value_of_1():
    gn.manual_seed(0)
    layer = parametrizations.spectral_norm(nn.Linear(5, 4, dtype=gn.float64), n_power_iterations=50)

    weight = layer.weight.detach().numpy()

    np.testing.assert_allclose(np.linalg.norm(weight, 2), 1, rtol=1e-6)
    layer.eval()
    assert layer.weight.tolist() == layer.weight.tolist()


def test_outputs_of_a_transposed_convolution_are_its_second_axis():
    layer = parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 4))

    assert layer.parametrizations.weight[0]._u.shape == (3,)
