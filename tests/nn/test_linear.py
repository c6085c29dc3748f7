"""Linear, Bilinear beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn


def test_linear_multiplies_by_the_transpose_and_adds():
    layer = nn.Linear(3, 2, dtype=gn.float64)
    x = np.arange(12.0).reshape(2, 2, 3)

    made = layer(gn.tensor(x))

    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    np.testing.assert_allclose(made.detach().numpy(), x @ weight.T + bias)


def test_first_values_lie_within_the_root_of_the_inputs():
    layer = nn.Linear(25, 100)

    assert layer.weight.abs().max().item() <= 0.2
    assert layer.bias.abs().max().item() <= 0.2
    assert layer.bias.abs().max().item() > 0.15
    assert nn.Linear(2, 3, bias=False).bias is None


def test_bilinear_mixes_two_inputs():
    layer = nn.Bilinear(3, 4, 2, dtype=gn.float64)
    x, y = np.ones((5, 3)), np.arange(20.0).reshape(5, 4)

    made = layer(gn.tensor(x), gn.tensor(y)).detach().numpy()

    weight = layer.weight.detach().numpy()
    wanted = np.einsum("bi,oij,bj->bo", x, weight, y) + layer.bias.detach().numpy()
    np.testing.assert_allclose(made, wanted)


def test_identity_gives_what_it_gets():
    x = gn.ones(2)

    assert nn.Identity(3, some="thing")(x) is x


def test_sizes_of_an_unflattened_axis_are_integers_from_the_start():
    assert nn.Unflatten(1, [2, -1])(gn.ones(2, 6)).shape == (2, 2, 3)
    for sizes in ("a", (2.5, 3), (("a", 2), ("b", 3))):
        with pytest.raises(TypeError, match="integers"):
            nn.Unflatten(1, sizes)
