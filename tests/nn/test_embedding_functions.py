"""Rows of tables that are made shorter where they are looked up, and gradients by frequency."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.nn.embedding_functions import embedding, embedding_bag, shorten, times

nn, F = gn.nn, gn.nn.functional


def test_rows_that_are_looked_up_are_made_shorter_in_the_table():
    weight = gn.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])

    shorten(weight, gn.tensor([[0, 1], [0, 0]]), 1.0, 2.0)

    assert gn.allclose(weight, gn.tensor([[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]]))


def test_gradients_are_divided_by_frequency():
    input = gn.tensor([0, 2, 0, 0])
    for call in (embedding, lambda i, w, **x: embedding_bag(i[None], w, mode="sum", **x)):
        weight = gn.ones(3, 2, requires_grad=True)
        call(input, weight, scale_grad_by_freq=True).sum().backward()
        assert weight.grad.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert times(gn.ones(3, 2), input).tolist() == [[3], [1], [1]]


def test_modules_have_the_options():
    layer = nn.Embedding.from_pretrained(gn.full((3, 2), 5.0), freeze=False, max_norm=1.0)
    bag = nn.EmbeddingBag(3, 2, max_norm=0.5, scale_grad_by_freq=True)

    assert layer(gn.tensor([1])).norm() <= 1
    assert layer.weight[0].tolist() == [5, 5]
    assert (layer.max_norm, layer.norm_type, layer.scale_grad_by_freq) == (1.0, 2.0, False)
    assert bag(gn.tensor([[1, 1]])).norm() <= 0.5


@pytest.mark.parametrize("compiled", [False, True])
def test_a_compiled_layer_trains_as_the_eager_one(compiled: bool):
    gn.manual_seed(1)
    layer = nn.Embedding(4, 3, max_norm=1.0, scale_grad_by_freq=True)
    gn.manual_seed(1)
    plain = nn.Embedding(4, 3)
    call = gn.compile(layer) if compiled else layer
    call(gn.tensor([1, 1, 2])).square().sum().backward()

    norms = plain.weight.detach().norm(dim=1)
    rows = plain.weight.detach() / norms.clamp(min=1)[:, None]
    assert gn.allclose(layer.weight.detach()[1:3], rows[1:3])
    assert layer.weight.detach()[0].equal(plain.weight.detach()[0])
    assert gn.allclose(layer.weight.grad[1:3], 2 * rows[1:3])
    assert layer.weight.grad[3].tolist() == [0, 0, 0]
    assert F.embedding(gn.tensor([3]), layer.weight, sparse=True).shape == (1, 3)
