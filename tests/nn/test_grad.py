"""torch.nn.grad's gradients of convolutions are those of a backward pass."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.nn import grad

WORDS = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}


@pytest.mark.parametrize("words", [{}, WORDS], ids=["plain", "all words"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_they_are_those_of_a_backward_pass(count: int, words: dict):
    groups = words.get("groups", 1)
    x = gn.randn(2, 4, *[7] * count, requires_grad=True)
    weight = gn.randn(6, 4 // groups, *[2] * count, requires_grad=True)
    y = getattr(F, f"conv{count}d")(x, weight, **words)
    g = gn.randn(*y.shape)
    y.backward(g)

    of_x = getattr(grad, f"conv{count}d_input")(x.shape, weight, g, **words)
    of_weight = getattr(grad, f"conv{count}d_weight")(x, weight.shape, g, **words)

    assert of_x.equal(x.grad)
    assert of_weight.equal(weight.grad)


def test_the_module_is_reached_by_pytorchs_path():
    assert gn.nn.grad.conv1d_input is grad.conv1d_input
