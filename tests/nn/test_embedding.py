"""Embedding and EmbeddingBag beside numpy."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.nn import functional as F


def test_an_embedding_looks_rows_up_and_its_padding_learns_nothing():
    table = nn.Embedding(5, 3, padding_idx=-5)
    ids = gn.tensor([[0, 2], [2, 4]])

    table(ids).sum().backward()

    assert table.padding_idx == 0
    assert table.weight[0].tolist() == [0.0, 0.0, 0.0]
    assert table.weight.grad[:, 0].tolist() == [0.0, 0.0, 2.0, 0.0, 1.0]
    rows = nn.Embedding.from_pretrained(gn.eye(3))
    assert not rows.weight.requires_grad
    assert rows(gn.tensor([1])).tolist() == [[0.0, 1.0, 0.0]]


def test_a_padding_beyond_the_table_is_refused():
    with pytest.raises(ArgumentError, match="adding_idx"):
        nn.Embedding(3, 2, padding_idx=5)


def test_a_bag_of_nothing_is_zero():
    bags = nn.EmbeddingBag(5, 3, mode="mean")

    made = bags(gn.tensor([4, 1, 1]), gn.tensor([0, 1, 1]))

    rows = bags.weight.detach().numpy()
    np.testing.assert_allclose(made.detach().numpy(), [rows[4], [0, 0, 0], rows[1]])


def test_weights_of_rows_have_slopes():
    table, ids = gn.randn(5, 3, requires_grad=True), gn.tensor([[0, 4], [2, 2]])
    shares = gn.rand(2, 2, requires_grad=True)

    F.embedding_bag(ids, table, mode="sum", per_sample_weights=shares).sum().backward()

    wanted = table.detach().numpy().sum(1)[ids.numpy()]
    np.testing.assert_allclose(shares.grad.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda w: F.embedding_bag(gn.tensor([1]), w), "index must be"),
        (
            lambda w: F.embedding_bag(gn.tensor([[1]]), w, scale_grad_by_freq=True, mode="max"),
            "max mode",
        ),
        (lambda w: F.embedding_bag(gn.tensor([[1]]), w, per_sample_weights=w), "mode 'sum'"),
    ],
)
def test_bags_that_are_none_are_refused(call, words):
    with pytest.raises(ArgumentError if "index" not in words else Exception, match=words):
        call(gn.ones(3, 2))


def test_weights_of_rows_are_of_the_tables_dtype():
    table, ids = gn.ones(5, 3), gn.tensor([[0, 4]])

    with pytest.raises(DtypeError, match="must be float32, as the table: got float64"):
        F.embedding_bag(ids, table, mode="sum", per_sample_weights=gn.ones(1, 2, dtype=gn.float64))


def test_the_largest_of_bags_is_minus_infinity_where_it_is_and_0_where_nothing_is():
    table = gn.tensor([[-gn.inf], [3.0], [gn.nan]])

    made = F.embedding_bag(gn.tensor([[0, 1], [1, 1]]), table, mode="max", padding_idx=1)
    beside = F.embedding_bag(
        gn.tensor([0, 1, 2]), table, gn.tensor([0, 1, 1]), mode="max", padding_idx=1
    )
    empty = F.embedding_bag(gn.zeros(0, dtype=gn.int64), table, gn.tensor([0, 0]), mode="max")

    assert made.tolist() == [[-gn.inf], [0.0]]
    assert beside[:2].tolist() == [[-gn.inf], [0.0]]
    assert beside[2].isnan().all()
    assert empty.tolist() == [[0.0], [0.0]]


def test_a_table_of_integers_may_be_given():
    table = gn.tensor([[1, 2], [3, 4]])

    assert nn.Embedding.from_pretrained(table)(gn.tensor([1])).tolist() == [[3, 4]]


def test_a_table_that_is_given_fits_and_may_be_frozen():
    table = nn.Embedding(3, 2, _weight=gn.ones(3, 2), _freeze=True)

    assert not table.weight.requires_grad
    assert nn.EmbeddingBag(3, 2, _weight=gn.ones(3, 2)).weight.requires_grad
    with pytest.raises(ShapeError, match=r"\(2, 3\) in place of \(3, 2\)"):
        nn.Embedding(3, 2, _weight=gn.ones(2, 3))
