"""Convolutions beside sums written out, and the shapes of their parameters."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError


def test_a_convolution_is_a_sum_over_its_window():
    layer = nn.Conv2d(2, 3, (2, 1), dtype=gn.float64)
    x = np.random.default_rng(0).standard_normal((2, 2, 4, 5))

    made = layer(gn.tensor(x)).detach().numpy()

    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    near = np.stack([x[:, :, :-1], x[:, :, 1:]], axis=-1)
    wanted = np.einsum("ncijk,ock->noij", near, weight[..., 0]) + bias[:, None, None]
    np.testing.assert_allclose(made, wanted, rtol=1e-12)


def test_a_transposed_convolution_undoes_shapes():
    down, up = nn.Conv2d(2, 3, 3, stride=2, padding=1), nn.ConvTranspose2d(3, 2, 3, 2, 1)
    x = gn.ones(1, 2, 5, 7)

    assert up(down(x)).shape == x.shape
    assert down.weight.shape == (3, 2, 3, 3)
    assert up.weight.shape == (3, 2, 3, 3)


def test_settings_change_the_shapes():
    assert nn.Conv1d(4, 6, 3, padding="same", groups=2)(gn.ones(1, 4, 9)).shape == (1, 6, 9)
    assert nn.Conv1d(4, 6, 3, groups=2, bias=False).weight.shape == (6, 2, 3)
    mirrored = nn.Conv2d(1, 1, 3, padding=1, padding_mode="reflect")
    assert mirrored(gn.ones(1, 1, 4, 4)).shape == (1, 1, 4, 4)
    longer = nn.ConvTranspose1d(2, 1, 3, stride=2, output_padding=1)
    assert longer(gn.ones(1, 2, 4)).shape == (1, 1, 10)


def test_first_values_are_bound_by_the_window():
    layer = nn.Conv2d(4, 30, 5)

    assert layer.weight.abs().max().item() <= 0.1
    assert layer.bias.abs().max().item() <= 0.1


def test_groups_divide_the_channels():
    with pytest.raises(ArgumentError, match="divisible by groups"):
        nn.Conv2d(3, 4, 1, groups=2)
