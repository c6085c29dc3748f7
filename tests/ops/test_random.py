"""Random numbers: independence of layout, and the shapes of distributions."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.ops import random as r
from tests.graphs import value

KEY = np.array([0x13198A2E, 0x03707344], np.uint32)
COUNT = 4000


def drawn(f, *args, key=KEY, **kwargs) -> np.ndarray:
    """What an operation draws from a key."""
    return value(lambda k: f(k, *args, **kwargs), key)


@pytest.mark.unit
def test_a_number_depends_on_its_place_and_not_on_the_shape():
    flat = drawn(r.random_uniform, (24,))

    assert (drawn(r.random_uniform, (4, 3, 2)).reshape(-1) == flat).all()
    assert (drawn(r.random_uniform, (30,))[:24] == flat).all()


@pytest.mark.unit
def test_another_number_folded_in_gives_other_words():
    keys = [drawn(r.fold_in, n).tolist() for n in range(4)]

    assert len({tuple(k) for k in keys}) == 4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_numbers_fill_their_interval(dtype):
    x = drawn(r.random_uniform, (COUNT,), -2.0, 3.0, dtype=dtype)

    assert x.dtype == dtype
    assert -2 <= x.min() < -1.98
    assert 2.98 < x.max() < 3
    assert abs(x.mean() - 0.5) < 0.07


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_have_the_moments_of_a_normal_distribution(dtype):
    x = drawn(r.random_normal, (COUNT,), 1.0, 2.0, dtype=dtype)
    z = (x - 1) / 2

    assert abs(z.mean()) < 0.05
    assert abs(z.std() - 1) < 0.05
    assert abs((z**3).mean()) < 0.15
    assert abs((z**4).mean() - 3) < 0.4


def test_integers_are_spread_evenly():
    counts = np.bincount(drawn(r.random_integers, -3, 4, (7 * COUNT // 4,)) + 3, minlength=7)

    assert len(counts) == 7
    assert abs(counts / counts.sum() - 1 / 7).max() < 0.02


def test_a_permutation_holds_every_number_once():
    order = drawn(r.random_permutation, 50)

    assert sorted(order) == list(range(50))
    assert (order != np.arange(50)).any()


def test_dropout_keeps_the_mean_and_its_gradient_keeps_the_places():
    x = np.ones((COUNT // 8, 8))

    y = value(lambda x, k: r.dropout(x, k, 0.25), x, KEY)

    assert set(np.unique(y)) == {0, 1 / 0.75}
    assert abs(y.mean() - 1) < 0.05


def test_dropout_of_nothing_and_of_all():
    x = np.arange(1.0, 5)

    assert (value(lambda x, k: r.dropout(x, k, 0.0), x, KEY) == x).all()
    assert (value(lambda x, k: r.dropout(x, k, 1.0), x, KEY) == 0).all()


def test_a_choice_follows_its_chances():
    logits = np.log(np.tile([0.1, 0.2, 0.7], (COUNT, 1)))

    shares = np.bincount(value(r.random_choice, KEY, logits)) / COUNT

    assert abs(shares - [0.1, 0.2, 0.7]).max() < 0.03
