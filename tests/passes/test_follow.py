"""Where an axis goes in a graph."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn import functional as F
from gnomon.passes.follow import MixedAxis, axis_in
from gnomon.tensor.tensor import node_of, raw

pytestmark = pytest.mark.unit


def followed(function, *shape: int, axis: int = 0, **named) -> int | None:
    x = gn.rand(*shape)
    made = function(x, **named)
    return axis_in(raw(made), dict.fromkeys((raw(x), node_of(x)), axis))


@pytest.mark.parametrize(
    ("function", "axis"),
    [
        (lambda x: x.exp() * 2 + 1, 0),
        (lambda x: x + gn.ones(4), 0),
        (lambda x: x.sum(-1), 0),
        (lambda x: x.transpose(0, 2), 2),
        (lambda x: x.reshape(5, 12), 0),
        (lambda x: x.unsqueeze(0), 1),
        (lambda x: F.linear(x, gn.ones(7, 4)), 0),
        (lambda x: F.layer_norm(x, (4,)), 0),
        (lambda x: x.softmax(-1), 0),
        (lambda x: x[:, 1:], 0),
        (lambda x: gn.cat([x, x], -1), 0),
        (lambda x: F.gelu(x, approximate="tanh"), 0),
        (lambda x: gn.ones(4) * 2, None),
    ],
)
def test_an_axis_is_found_again(function, axis):
    assert followed(function, 5, 3, 4) == axis


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(0),
        lambda x: x.cumsum(0),
        lambda x: x.flip(0),
        lambda x: x[1:],
        lambda x: x.softmax(0),
        lambda x: x.reshape(15, 4),
        lambda x: x + gn.rand(5, 1, 1),
        lambda x: gn.cat([x, x], 0),
        lambda x: x.movedim(0, -1) @ gn.ones(5, 2),
        lambda x: x.reshape(5, 12) @ x.reshape(5, 12).T,
        lambda x: x.sort(0)[0],
    ],
)
def test_what_mixes_places_is_refused(function):
    with pytest.raises(MixedAxis):
        followed(function, 5, 3, 4)


def test_a_region_is_named():
    with pytest.raises(MixedAxis, match=r"^softmax$"):
        followed(lambda x: x.softmax(0), 5, 3)


def test_another_axis():
    assert followed(lambda x: x.sum(0), 5, 3, axis=1) == 0
