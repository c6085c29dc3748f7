"""What costs nothing here gives what it was given."""

from __future__ import annotations

import gnomon as gn
from gnomon import nn
from gnomon.nn.utils import convert_conv2d_weight_memory_format, skip_init


def test_a_layer_without_draws_trains():
    gn.manual_seed(0)
    before = gn.get_rng_state().tolist()

    layer = skip_init(nn.Linear, 3, 2)

    assert gn.get_rng_state().tolist() == before
    assert layer.weight.tolist() == [[0.0] * 3] * 2
    layer(gn.ones(1, 3)).sum().backward()
    assert layer.weight.grad.tolist() == [[1.0] * 3] * 2


def test_a_layout_changes_nothing():
    layer = nn.Conv2d(1, 1, 1)

    assert convert_conv2d_weight_memory_format(layer, "channels_last") is layer
