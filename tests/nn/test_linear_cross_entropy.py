"""The module of a last layer and its loss: keys, passes that repeat, passes of passes."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F


def problem(rows: int = 32, width: int = 8, classes: int = 256):
    """A layer with its loss, an input and targets."""
    gn.manual_seed(0)
    x = gn.randn(rows, width, requires_grad=True)
    return x, gn.randint(0, classes, (rows,))


def test_its_state_is_a_layers():
    module = gn.nn.LinearCrossEntropyLoss(4, 6, out_features=(2,), bias=True, weight=gn.ones(6))

    assert {k: tuple(v.shape) for k, v in module.state_dict().items()} == {
        "weight": (6,),
        "linear.weight": (12, 4),
        "linear.bias": (12,),
    }
    assert "out_features=(2,)" in repr(module)


def test_a_module_gives_what_its_parts_give():
    x, target = problem()
    module = gn.nn.LinearCrossEntropyLoss(8, 256, bias=True, strategy="vocab")

    apart = F.cross_entropy(module.linear(x), target)

    np.testing.assert_allclose(module(x, target).item(), apart.item(), rtol=1e-6)


def test_a_pass_may_be_repeated():
    x, target = problem()
    loss = gn.nn.LinearCrossEntropyLoss(8, 256, strategy="vocab")(x, target)

    loss.backward(retain_graph=True)
    first = x.grad.numpy().copy()
    x.grad = None
    loss.backward()

    assert (x.grad.numpy() == first).all()


def test_slopes_have_slopes_in_pieces():
    x, target = problem()
    weight = gn.randn(256, 8)
    found = []

    for strategy in ("full", "vocab"):
        loss = F.linear_cross_entropy(x, weight, target, strategy=strategy)
        (slope,) = gn.autograd.grad(loss, x, create_graph=True)
        (again,) = gn.autograd.grad((slope * slope).sum(), x)
        found.append(again.numpy())

    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-9)
    assert abs(found[0]).max() > 0


def test_the_rows_of_a_piece_are_an_option():
    x, target = problem()
    weight = gn.randn(256, 8)

    cut = F.linear_cross_entropy(
        x, weight, target, options=gn.nn.LinearCrossEntropyOptions(batch_chunk_size=8)
    )

    assert cut.item() == F.linear_cross_entropy(x, weight, target, strategy="full").item()


def test_a_loss_looked_at_first_has_the_same_slopes():
    x, target = problem()
    weight = gn.randn(256, 8)
    found = []

    for look in (False, True):
        x.grad = None
        loss = F.linear_cross_entropy(x, weight, target, strategy="vocab")
        if look:
            loss.item()
        loss.backward()
        found.append(x.grad.numpy().copy())

    assert (found[0] == found[1]).all()


def test_bfloat16_is_summed_in_float32():
    x, target = problem()
    weight = gn.randn(256, 8)
    narrow = F.linear_cross_entropy(
        x.detach().bfloat16(), weight.bfloat16(), target, strategy="vocab"
    )

    wide = F.linear_cross_entropy(x.detach().bfloat16().float(), weight.bfloat16().float(), target)

    assert narrow.dtype is gn.bfloat16
    assert narrow.item() == wide.bfloat16().item()


@pytest.mark.parametrize("softcap", [-1, 0, 0.0, float("nan")])
def test_a_cap_is_above_zero(softcap: float):
    x, target = problem()

    with pytest.raises(ArgumentError, match=r"softcap must be above 0: got .*\. Use None"):
        F.linear_cross_entropy(x, gn.randn(256, 8), target, softcap=softcap)
