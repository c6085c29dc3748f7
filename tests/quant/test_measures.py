"""The ratio of a signal to its error."""

from __future__ import annotations

import math

import pytest

import gnomon as gn
from gnomon.errors import ShapeError
from gnomon.quant.measures import sqnr


def test_it_is_in_decibels():
    x = gn.tensor([3.0, 4.0])

    assert sqnr(x, gn.tensor([3.0, 4.5])) == 20.0
    assert sqnr(x, x) == math.inf
    assert sqnr(gn.zeros(2), x) == -math.inf
    assert sqnr(x.requires_grad_(), x * 1.1) == pytest.approx(20.0, abs=1e-5)


def test_shapes_are_equal():
    with pytest.raises(ShapeError, match=r"sqnr: shapes must be equal: got \(2,\) and \(1,\)"):
        sqnr(gn.ones(2), gn.ones(1))
