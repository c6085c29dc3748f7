"""Under autocast products take a narrow dtype, and what loses by it stays wide."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import DtypeError


def test_products_are_narrow_and_softmax_is_wide():
    layer, x = gn.nn.Linear(4, 3), gn.ones(2, 4)
    with gn.autocast("cpu", dtype=gn.bfloat16):
        y = layer(x)
        shares = gn.softmax(y, dim=1)
        product = x @ x.T

    assert (y.dtype, product.dtype) == (gn.bfloat16, gn.bfloat16)
    assert shares.dtype is gn.float32
    assert layer(x).dtype is gn.float32
    (y.float().sum()).backward()
    assert layer.weight.grad.dtype is gn.float32


def test_it_can_be_disabled_and_decorates():
    @gn.autocast("cpu")
    def product(x):
        return x @ x

    x = gn.ones(2, 2)
    assert product(x).dtype is gn.bfloat16
    with gn.autocast("cpu", enabled=False):
        assert (x @ x).dtype is gn.float32
    with pytest.raises(DtypeError, match="bfloat16 or float16"):
        gn.autocast("cpu", dtype=gn.float64)
