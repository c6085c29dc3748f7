"""A fused layer does what the layer and its batch norm do at rest."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.nn.utils import fuse_conv_bn_eval, fuse_linear_bn_eval

X = gn.arange(2.0 * 3 * 5 * 4).sin().reshape(2, 3, 5, 4)
LAYERS = {
    "conv": (lambda bias: nn.Conv2d(3, 4, 2, bias=bias), nn.BatchNorm2d, X, False),
    "transposed": (lambda bias: nn.ConvTranspose2d(3, 4, 2, bias=bias), nn.BatchNorm2d, X, True),
    "linear": (lambda bias: nn.Linear(3, 4, bias=bias), nn.BatchNorm1d, X[..., 0, 0], False),
}


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_a_fused_layer_is_both(name: str, bias: bool, affine: bool):
    make, norm, x, transposed = LAYERS[name]
    layer, bn = make(bias), norm(4, affine=affine)
    bn(layer(x))  # statistics that differ from the first ones
    if affine:
        nn.init.uniform_(bn.weight)
        nn.init.uniform_(bn.bias)
    layer.eval(), bn.eval()

    fuse = fuse_linear_bn_eval if name == "linear" else fuse_conv_bn_eval
    fused = fuse(layer, bn, transposed) if transposed else fuse(layer, bn)

    np.testing.assert_allclose(fused(x).tolist(), bn(layer(x)).tolist(), rtol=1e-4, atol=1e-6)
    assert (layer.bias is None) != bias


def test_layers_in_training_are_refused():
    with pytest.raises(ArgumentError, match=r"folded in at rest. Call eval\(\) first"):
        fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1))
