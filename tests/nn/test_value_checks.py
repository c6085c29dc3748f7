"""Values that functions look at first: outside of what they mean, they are refused."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.nn import functional as F


@pytest.mark.parametrize("x", [[0.5, 1.5], [-0.1, 0.5], [float("nan"), 0.5]])
def test_chances_outside_of_0_and_1_are_refused(x):
    inside = gn.tensor([0.5, 0.25])

    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(gn.tensor(x), inside)
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        gn.nn.BCELoss()(inside, gn.tensor(x))


def test_a_variance_below_0_is_refused():
    x = gn.ones(2)

    with pytest.raises(ArgumentError, match="var has negative"):
        F.gaussian_nll_loss(x, x, gn.tensor([1.0, -1.0]))


def test_classes_that_are_none_are_refused():
    x = gn.ones(1, 3)

    with pytest.raises(ArgumentError, match="classes are 0 to 2"):
        F.multilabel_margin_loss(x, gn.tensor([[0, 3, -1]]))


def test_nobody_looks_where_values_are_to_come():
    x = gn.tensor([0.5, 0.25])

    loss = gn.compile(F.binary_cross_entropy)(x, x)

    assert loss.item() == pytest.approx(F.binary_cross_entropy(x, x).item())


@pytest.mark.parametrize("p", [-0.1, 1.5])
def test_what_is_no_chance_is_no_dropout(p):
    for layer in (gn.nn.Dropout, gn.nn.AlphaDropout):
        with pytest.raises(ArgumentError, match="between 0 and 1"):
            layer(p)


def test_a_chance_is_a_number():
    with pytest.raises(ArgumentError, match="Dropout: p must be a number: got None"):
        gn.nn.Dropout(None)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.gaussian_nll_loss(gn.ones(2, 3), gn.ones(2, 3), gn.ones(3)),
        lambda: F.gaussian_nll_loss(gn.ones(2, 3), gn.ones(2, 3), gn.ones(1)),
        lambda: F.cosine_embedding_loss(gn.ones(4, 3), gn.ones(4, 3), gn.ones(4, 1)),
        lambda: F.cosine_embedding_loss(gn.ones(3), gn.ones(3), gn.ones(3)),
        lambda: F.cosine_embedding_loss(gn.ones(4, 3), gn.ones(4, 3), gn.ones(())),
    ],
)
def test_what_would_broadcast_to_other_terms_is_refused(call):
    with pytest.raises(ShapeError):
        call()


def test_groups_of_one_value_are_not_normalized():
    with pytest.raises(ArgumentError, match="more than 1 value"):
        F.group_norm(gn.ones(1, 4), 4)
    assert F.group_norm(gn.ones(2, 4), 4).shape == (2, 4)


@pytest.mark.parametrize("name", ["huber_loss", "l1_loss", "mse_loss", "smooth_l1_loss"])
def test_a_target_that_is_broadcast_is_warned_of(name):
    x, target = gn.ones(3, 1), gn.zeros(3)

    with pytest.warns(UserWarning, match=rf"{name}: Using a target size \(\(3,\)\) .*value_checks"):
        getattr(F, name)(x, target)
    getattr(F, name)(x, target[:, None])


def test_modules_of_losses_warn_too_and_compiled_ones_do_not_look():
    x, target = gn.ones(3, 1), gn.zeros(3)

    with pytest.warns(UserWarning, match="mse_loss: Using a target size"):
        loss = gn.nn.MSELoss()(x, target)
    assert gn.compile(gn.nn.MSELoss())(x, target).item() == loss.item() == 1


def test_the_distance_of_complex_numbers():
    x = gn.tensor([3 + 4j, 1j], requires_grad=True)
    loss = F.l1_loss(x, gn.tensor([0j, 1j]), reduction="sum")
    loss.backward()

    assert loss.item() == 5
    np.testing.assert_allclose(x.grad.numpy(), [0.6 + 0.8j, 0], rtol=1e-6)


@pytest.mark.parametrize("kind", [gn.uint8, gn.int64, gn.bool])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_the_nearest_pixels_of_integers_are_integers(kind, mode):
    x = gn.tensor([[[[0, 1], [2, 3]]]]).to(kind)

    made = F.interpolate(x, scale_factor=2, mode=mode)

    assert made.dtype is kind
    assert made[0, 0, ::2, ::2].equal(x[0, 0])
    assert made[0, 0, 1::2, 1::2].equal(x[0, 0])
    if kind is not gn.uint8:
        with pytest.raises(DtypeError, match="interpolate: needs floats"):
            F.interpolate(x, scale_factor=2, mode="bilinear")


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_are_mixed_and_rounded(mode, antialias):
    gn.manual_seed(0)
    x = gn.randint(0, 256, (1, 3, 9, 7)).to(gn.uint8)

    made = F.interpolate(x, size=(5, 12), mode=mode, antialias=antialias)

    wanted = x.float()
    for size in ((9, 12), (5, 12)):
        wanted = F.interpolate(wanted, size=size, mode=mode, antialias=antialias)
        wanted = wanted.round().clamp(0, 255)
    assert made.dtype is gn.uint8
    assert made.equal(wanted.to(gn.uint8))
