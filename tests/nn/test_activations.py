"""Modules without parameters call their function with their settings."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn

X = np.linspace(-3.0, 3.0, 24).reshape(2, 4, 3)


def of(module: nn.Module, *arrays: np.ndarray) -> np.ndarray:
    """What a module makes of arrays."""
    return module(*map(gn.tensor, arrays)).detach().numpy()


def test_elementwise_modules_follow_their_formulas():
    np.testing.assert_allclose(of(nn.ReLU(), X), np.maximum(X, 0))
    np.testing.assert_allclose(of(nn.LeakyReLU(0.2), X), np.where(X > 0, X, 0.2 * X))
    np.testing.assert_allclose(of(nn.SiLU(), X), X / (1 + np.exp(-X)), rtol=1e-12)
    np.testing.assert_allclose(
        of(nn.Softplus(beta=2.0), X), np.log1p(np.exp(2 * X)) / 2, rtol=1e-12
    )
    np.testing.assert_allclose(of(nn.PReLU(4, init=0.5).double(), X), np.where(X > 0, X, X / 2))


def test_an_activation_in_place_changes_its_input():
    x = gn.tensor(X)

    made = nn.ReLU(inplace=True)(x)

    assert made is x
    assert x.min().item() == 0.0


def test_softmax_takes_the_axis_that_pytorch_takes():
    np.testing.assert_allclose(of(nn.Softmax(), X).sum(0), 1.0)
    np.testing.assert_allclose(of(nn.Softmax(dim=-1), X).sum(-1), 1.0)


def test_weights_of_a_loss_are_buffers_and_follow_casts():
    loss = nn.CrossEntropyLoss(weight=gn.tensor([1.0, 3.0]), label_smoothing=0.1).double()

    made = loss(gn.tensor([[0.0, 0.0]], dtype=gn.float64), gn.tensor([1]))

    assert loss.weight.dtype is gn.float64
    assert list(loss.state_dict()) == ["weight"]
    np.testing.assert_allclose(made.item(), np.log(2) * (0.9 + 0.1 * 4 / 6), rtol=1e-12)


def test_losses_average_unless_told_otherwise():
    y = np.ones_like(X)

    np.testing.assert_allclose(of(nn.MSELoss(), X, y), ((X - 1) ** 2).mean())
    np.testing.assert_allclose(of(nn.L1Loss(reduction="sum"), X, y), np.abs(X - 1).sum())
    assert of(nn.HuberLoss(reduction="none"), X, y).shape == X.shape


def test_pools_and_borders_act_on_the_last_axes():
    image = np.arange(16.0).reshape(1, 1, 4, 4)

    assert of(nn.MaxPool2d(2), image).tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]]
    assert of(nn.AvgPool2d(2), image).tolist() == [[[[2.5, 4.5], [10.5, 12.5]]]]
    assert of(nn.AdaptiveAvgPool2d(1), image).tolist() == [[[[7.5]]]]
    assert of(nn.ZeroPad2d((1, 0, 0, 2)), image).shape == (1, 1, 6, 5)
    assert of(nn.ReflectionPad2d(1), image)[0, 0, 0].tolist() == [5.0, 4.0, 5.0, 6.0, 7.0, 6.0]


def test_dropout_acts_in_training_only_and_keeps_the_mean():
    gn.manual_seed(0)
    x, drop = gn.ones(100, 100), nn.Dropout(0.25)

    made = drop(x)

    assert set(np.unique(made.numpy())) == {0.0, np.float32(1 / 0.75)}
    assert abs(made.mean().item() - 1.0) < 0.02
    assert drop.eval()(x) is x
    channels = nn.Dropout2d(0.5)(gn.ones(4, 8, 3, 3)).numpy().reshape(32, 9)
    assert (channels == channels[:, :1]).all()


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_the_text_names_settings_that_differ(approximate: str):
    shown = repr(nn.GELU(approximate))

    assert ("tanh" in shown) == (approximate == "tanh")


def test_losses_take_their_settings_in_pytorchs_order():
    weight, x, classes = (
        gn.tensor([1.0, 3.0]),
        gn.tensor([[0.5, -1.0], [2.0, 0.0]]),
        gn.tensor([0, 1]),
    )

    assert nn.CrossEntropyLoss(weight, False).reduction == "sum"
    assert nn.CrossEntropyLoss(weight, None, 7, None, "none", 0.25).ignore_index == 7
    assert nn.NLLLoss(None, True, 5, False).reduction == "none"
    assert nn.PoissonNLLLoss(True, False, True).eps == 1e-8
    assert nn.MSELoss(None, None, "sum").reduction == nn.MSELoss(False).reduction == "sum"
    assert nn.BCEWithLogitsLoss(None, None, None, "none", weight).pos_weight.tolist() == [1.0, 3.0]
    summed, mean = nn.CrossEntropyLoss(None, False)(x, classes), nn.CrossEntropyLoss()(x, classes)
    np.testing.assert_allclose(summed.item(), 2 * mean.item(), rtol=1e-6)
    triplet = nn.TripletMarginLoss(1.0, 2.0, 0.5)
    assert (triplet.eps, triplet.swap) == (0.5, False)
    one, other = gn.zeros(1, 1), gn.ones(1, 1)
    assert triplet(one, one, other).item() == 1.0
    assert nn.TripletMarginLoss(0.25, eps=0.5)(one, other, one).item() == 0.25
