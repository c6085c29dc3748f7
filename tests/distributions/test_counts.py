"""Distributions of counts: moments of samples, chances that add up to one."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError

COUNT = 20_000
KINDS = {
    "Poisson": lambda: D.Poisson(gn.tensor([0.2, 7.0, 60.0])),
    "Binomial": lambda: D.Binomial(gn.tensor([3.0, 40.0, 300.0]), gn.tensor([0.9, 0.1, 0.6])),
    "Geometric": lambda: D.Geometric(gn.tensor([0.2, 0.9])),
    "NegativeBinomial": lambda: D.NegativeBinomial(gn.tensor([2.0, 10.0]), gn.tensor([0.5, 0.8])),
    "Multinomial": lambda: D.Multinomial(10, gn.tensor([0.1, 0.3, 0.6])),
}


@pytest.mark.parametrize("name", KINDS)
def test_samples_have_the_moments(name: str):
    gn.manual_seed(1)
    kind = KINDS[name]()
    drawn = kind.sample((COUNT,)).numpy()
    spread = kind.stddev.numpy()

    assert (drawn == np.floor(drawn)).all()
    assert (drawn >= 0).all()
    assert (np.abs(drawn.mean(0) - kind.mean.numpy()) < 5 * spread / COUNT**0.5).all()
    np.testing.assert_allclose(drawn.std(0), spread, rtol=0.06)


@pytest.mark.parametrize(
    "kind",
    [
        D.Poisson(4.0),
        D.Poisson(30.0),
        D.Binomial(60, 0.3),
        D.Binomial(30, 0.2, validate_args=False),
    ],
    ids=repr,
)
def test_counts_occur_as_often_as_they_should(kind: D.Distribution):
    gn.manual_seed(2)
    chances = kind.log_prob(gn.arange(61.0)).exp().numpy()
    drawn = kind.sample((COUNT,)).numpy().astype(int)

    assert chances.sum() == pytest.approx(1, abs=1e-5)
    away = np.bincount(drawn, minlength=61) / COUNT - chances
    assert np.abs(away).max() < 5 * (0.25 / COUNT) ** 0.5


def test_values_are_listed_where_all_have_as_many():
    assert D.Binomial(2, gn.tensor([0.5, 0.1])).enumerate_support().shape == (3, 2)
    with pytest.raises(NotImplementedError, match="where all total_count are equal"):
        D.Binomial(gn.tensor([1.0, 2.0]), gn.tensor(0.5)).enumerate_support()
    with pytest.raises(NotImplementedError, match="one total_count"):
        D.Multinomial(2.5, gn.ones(3))
    with pytest.raises(ArgumentError, match="Geometric: needs either probs or logits"):
        D.Geometric()


def test_functions_draw_counts():
    gn.manual_seed(3)

    assert gn.poisson(gn.zeros(3)).tolist() == [0, 0, 0]
    assert gn.binomial(gn.tensor([4.0, 9.0]), gn.ones(2)).tolist() == [4, 9]
