"""Losses by logits in pieces, beyond the samples: ignored rows, empty ones, odd numbers, slopes."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import ArgumentError, IndexOutOfBounds, ShapeError
from gnomon.ops.linear_cross_entropy import linear_cross_entropy
from gnomon.ops.logits import sums_of
from tests.graphs import derived, measured, value

X, WEIGHT = (np.random.default_rng(k).standard_normal(s) for k, s in enumerate([(6, 4), (5, 4)]))
LABELS = np.array([3, 0, -100, 4, 1, 1])
SEED = np.ones(())
STRATEGIES = ("full", "batch", "vocab")


def loss(**named):
    """The loss of X and WEIGHT."""
    return lambda x, weight, target: linear_cross_entropy(x, weight, target, **named)


VARIANTS = [
    {"z_loss": 0.1},
    {"softcap": 2.0},
    {"reduction": "sum", "label_smoothing": 0.2, "softcap": 1.5, "z_loss": 0.01},
]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("named", VARIANTS, ids=["z", "cap", "all"])
def test_slopes_are_what_differences_say(named, strategy):
    f = loss(strategy=strategy, **named)

    told = derived(f, SEED, X, WEIGHT, LABELS)

    for a, b in zip(told, measured(f, SEED, X, WEIGHT, LABELS), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_shares_have_slopes():
    shares = np.random.default_rng(2).dirichlet(np.ones(5), 6)
    f = loss(label_smoothing=0.1)

    told = derived(f, SEED, X, WEIGHT, shares)

    for a, b in zip(told, measured(f, SEED, X, WEIGHT, shares), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_a_row_is_for_a_later_target():
    x, target = X.reshape(2, 3, 4), np.array([[9, 3, 0], [9, 4, 1]]) % 9

    moved = value(loss(shift=1), x, WEIGHT, target)
    plain = value(loss(), x[:, :-1], WEIGHT, target[:, 1:])

    np.testing.assert_allclose(moved, plain)


def test_the_logarithm_of_the_sum_comes_along():
    lse = value(lambda *xs: linear_cross_entropy(*xs, return_lse=True)[1], X, WEIGHT, LABELS)

    np.testing.assert_allclose(lse, np.log(np.exp(X @ WEIGHT.T).sum(1)))


def test_the_mean_of_nothing_is_not_a_number():
    with np.errstate(all="ignore"):
        assert np.isnan(value(loss(), X, WEIGHT, np.full(6, -100)))
        assert np.isnan(value(loss(), X[:0], WEIGHT, LABELS[:0]))


def test_an_ignored_row_counts_for_nothing_whatever_its_logits():
    huge = X.copy()
    huge[2] = 1e308
    with np.errstate(all="ignore"):
        found = [value(loss(), x, WEIGHT, LABELS) for x in (X, huge)]
        slopes = derived(loss(), SEED, huge, WEIGHT, LABELS)

    assert found[0] == found[1]
    assert np.isfinite(slopes[1]).all()
    assert not slopes[0][2].any()


def test_a_class_that_is_none_is_refused():
    with pytest.raises(IndexOutOfBounds):
        value(loss(), X, WEIGHT, LABELS + 1)


@pytest.mark.parametrize(
    ("named", "arrays", "error", "words"),
    [
        ({}, (X, WEIGHT[:, :3], LABELS), ShapeError, "linear_weight must be"),
        ({}, (X, WEIGHT, LABELS[:4]), ShapeError, r"target must be \(6,\)"),
        ({"label_smoothing": 2.0}, (X, WEIGHT, LABELS), ArgumentError, "label_smoothing"),
        ({"strategy": "vocabulary"}, (X, WEIGHT, LABELS), ArgumentError, "strategy"),
        ({"shift": 9}, (X, WEIGHT, LABELS), ArgumentError, "shift"),
    ],
)
def test_what_does_not_fit_is_refused(named, arrays, error, words):
    with pytest.raises(error, match=words):
        value(loss(**named), *arrays)


def test_rows_and_sequence_have_leaves_of_their_own():
    assert sums_of((8, 512), 128256) == ((8, 4), 16)
