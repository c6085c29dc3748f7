"""A batch of tensors of which one axis has another size in each: functions place by place."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nested import NestedTensor
from gnomon.nn import functional as F
from gnomon.testing import assert_close

pytestmark = pytest.mark.unit

SIZES = ([3, 0, 5, 1], [1], [0, 0], [4, 4])


@pytest.fixture(params=SIZES, ids=str)
def parts(request) -> list[gn.Tensor]:
    gn.manual_seed(0)
    return [gn.randn(n, 4) for n in request.param]


def check(function, parts):
    """A function of the ragged tensor beside the same of each item."""
    made = function(gn.nested.nested_tensor(parts))
    assert isinstance(made, NestedTensor)
    for found, part in zip(made.unbind(), parts, strict=True):
        assert_close(found, function(part[None])[0])


LINEAR, NORM = gn.nn.Linear(4, 6), gn.nn.LayerNorm(4)
FUNCTIONS = {
    "arithmetic": lambda x: (2 - x * 3) / 4 + x,
    "row": lambda x: x + gn.arange(4.0),
    "one": lambda x: x * gn.full((1, 1, 4), 2.0),
    "linear": lambda x: LINEAR(x),
    "norm": lambda x: F.gelu(NORM(x)),
    "softmax": lambda x: x.softmax(-1),
    "heads": lambda x: x.unflatten(-1, (2, 2)).transpose(1, 2),
    "heads back": lambda x: x.unflatten(-1, (2, 2)).transpose(1, 2).transpose(1, 2).flatten(-2),
    "last": lambda x: x.sum(-1),
    "kept": lambda x: x.mean(2, keepdim=True) - x,
    "halves": lambda x: x.chunk(2, -1)[1],
    "wider": lambda x: gn.cat([x, x * 2], dim=-1),
    "stacked": lambda x: gn.stack([x, -x], dim=2),
    "unsqueezed": lambda x: x.unsqueeze(2),
    "compared": lambda x: (x > 0) & (x < 1),
    "chosen": lambda x: gn.where(x > 0, x, 0.0),
    "double": lambda x: x.double(),
    "clamped": lambda x: x.clamp(-0.5, 0.5),
    "permuted": lambda x: x.unsqueeze(2).permute(0, 1, 3, 2),
    "matrix": lambda x: x @ gn.arange(8.0).reshape(4, 2),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_function_is_that_of_each_item(function, parts):
    check(function, parts)


def test_reshapes_keep_items_and_places(parts):
    x = gn.nested.nested_tensor(parts)
    assert_close(x.reshape(len(parts), -1, 2, 2).values(), x.values().reshape(-1, 2, 2))
    assert x.view(-1, x.shape[1], 4).shape == x.shape


def test_a_part_for_each_item(parts):
    each = gn.randn(len(parts), 1, 4)
    made = gn.nested.nested_tensor(parts) * each
    for found, part, row in zip(made.unbind(), parts, each, strict=True):
        assert_close(found, part * row)


def test_gradients(parts):
    x = gn.nested.nested_tensor(parts, requires_grad=True)
    (F.silu(x) * x).sum().backward()
    for found, part in zip(x.grad.unbind(), parts, strict=True):
        alone = part.clone().requires_grad_()
        (F.silu(alone) * alone).sum().backward()
        assert_close(found, alone.grad)


REFUSED = {
    "cumsum: mixes places of a ragged axis": lambda x: x.cumsum(1),
    "flip: mixes places of a ragged axis": lambda x: x.flip(1),
    "mean: mixes places of a ragged axis": lambda x: x.mean(dim=(1, 2)),
    "sort: mixes places": lambda x: x.sort(1),
    "softmax: axis 0 of a ragged tensor has its items: got 0": lambda x: x.softmax(0),
    "sum: axis 0 of a ragged tensor has its items: got -3": lambda x: x.sum(-3),
    "chunk: axis 0": lambda x: x.chunk(2),
    "size 1 along the ragged axis: got \\(4, 4\\)": lambda x: x + gn.ones(4, 4),
    "size 1 along the ragged axis: got \\(2, 2, 4\\)": lambda x: x + gn.ones(2, 2, 4),
    "mse_loss: mixes": lambda x: F.mse_loss(x, gn.ones(4, 4), reduction="none"),
    "ragged axes differ": lambda x: x + gn.nested.nested_tensor([gn.ones(3, 4), gn.ones(1, 4)]),
    "a ragged axis has no one size": lambda x: gn.ones(int(x.shape[1])),
    "reshape: a ragged tensor": lambda x: x.reshape(8, 2),
    "reshape: the ragged axis stays": lambda x: x.reshape(2, 2, 4),
    "unbind: a ragged tensor is a batch along axis 0": lambda x: x.unbind(1),
}


@pytest.mark.parametrize("told", REFUSED)
def test_refusals(told):
    with pytest.raises(ValueError, match=told):
        REFUSED[told](gn.nested.nested_tensor([gn.ones(3, 4), gn.ones(1, 4)]))
