"""Operations that ONNX has an operator for are written as that, others as their bodies."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.onnx.regions import both_ends, is_plain
from tests.onnx.running import exported, operators

pytestmark = pytest.mark.unit

nn, F = gn.nn, gn.nn.functional


@pytest.mark.parametrize("bias", [False, True])
def test_convolutions(bias):
    gn.manual_seed(0)
    layer = nn.Conv2d(4, 6, 3, stride=2, padding=(1, 2), dilation=(1, 2), groups=2, bias=bias)
    made = exported(layer, gn.randn(2, 4, 9, 11))
    assert operators(made) == ["Conv", "Identity"]


def test_a_convolution_that_pads_as_much_as_is_needed():
    exported(nn.Conv1d(2, 3, 4, padding="same"), gn.arange(14.0).reshape(1, 2, 7))


@pytest.mark.parametrize("ceil", [False, True])
def test_pools(ceil):
    layer = nn.MaxPool2d(3, 2, 1, ceil_mode=ceil)
    made = exported(layer, gn.arange(98.0).reshape(1, 2, 7, 7).sin())
    assert "MaxPool" in operators(made)
    exported(nn.AvgPool2d(3, 2, 1, ceil_mode=ceil), gn.arange(98.0).reshape(1, 2, 7, 7))
    exported(nn.AdaptiveAvgPool2d(2), gn.arange(98.0).reshape(1, 2, 7, 7))


def test_a_pool_that_gives_places_is_written_as_its_body():
    x = gn.arange(16.0).reshape(1, 1, 4, 4).sin()
    made = exported(lambda x: F.max_pool2d(x, 2, return_indices=True), x)
    assert "MaxPool" not in operators(made)


@pytest.mark.parametrize(
    ("function", "name"), [("softmax", "Softmax"), ("log_softmax", "LogSoftmax")]
)
def test_functions_of_one_axis(function, name):
    def program(x):
        return getattr(F, function)(x, 1)

    assert operators(exported(program, gn.arange(6.0).reshape(2, 3))) == [name, "Identity"]
    double = exported(lambda x: getattr(F, function)(x, 0, dtype=gn.float64), gn.ones(2, 3))
    assert name not in operators(double)


def test_relu():
    assert operators(exported(nn.ReLU(), gn.tensor([-1.0, 0.0, 2.0]))) == ["Relu", "Identity"]
    exported(nn.ReLU(), gn.tensor([-1, 0, 2]))


def test_paddings():
    assert both_ends(((1, 2), (3, 4))) == [1, 3, 2, 4]
    assert is_plain([0, 1])
    assert not is_plain([0, -1])
