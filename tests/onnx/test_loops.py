"""Choices and loops in ONNX: If, Loop, Scan."""

from __future__ import annotations

import pytest

import gnomon as gn
from tests.onnx.running import exported, operators

pytestmark = pytest.mark.unit


def test_a_choice():
    def function(x, y):
        return gn.cond(x.sum() > 0, lambda a, b: a * 2 + b, lambda a, b: a - b, (x, y))

    made = exported(function, gn.ones(3), gn.arange(3.0), others=[(-gn.ones(3), gn.ones(3))])
    assert "If" in operators(made)


def test_a_loop():
    def function(n, x):
        return gn.while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 2 + n), (n, x))

    others = [(gn.tensor(0), gn.ones(2)), (gn.tensor(5), gn.arange(2.0))]
    made = exported(function, gn.tensor(3), gn.ones(2), others=others)
    assert "Loop" in operators(made)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan(reverse):
    factor = gn.tensor(0.5)

    def function(state, xs):
        return gn.scan(lambda s, x: (s * factor + x, s - x), state, xs, reverse=reverse)

    made = exported(function, gn.ones(2), gn.arange(6.0).reshape(3, 2))
    assert "Scan" in operators(made)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers(kind):
    gn.manual_seed(0)
    layer = getattr(gn.nn, kind)(3, 4, num_layers=2, bidirectional=True, batch_first=True)
    axes = {"x": {0: "batch", 1: "time"}}
    others = [(gn.randn(4, 7, 3),), (gn.randn(1, 2, 3),)]
    exported(layer, gn.randn(2, 5, 3), others=others, input_names=["x"], dynamic_axes=axes)
