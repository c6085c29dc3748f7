"""Distributions of real numbers: densities beside sums, samples beside moments."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D

KINDS = {
    "Normal": (D.Normal(1.0, 2.0), (-30, 30)),
    "LogNormal": (D.LogNormal(0.0, 0.5), (1e-6, 40)),
    "Laplace": (D.Laplace(-1.0, 0.5), (-20, 20)),
    "Gumbel": (D.Gumbel(0.5, 1.5), (-15, 60)),
    "Uniform": (D.Uniform(-1.0, 3.0), (-1, 3)),
    "Exponential": (D.Exponential(2.0), (0, 20)),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_density_has_its_moments_and_its_entropy(name: str):
    kind, (low, high) = KINDS[name]
    places = np.linspace(low, high, 200_001)[:-1] + (high - low) / 400_002
    log = kind.log_prob(gn.tensor(places)).numpy()
    share = np.exp(log) * (high - low) / 200_000

    np.testing.assert_allclose(share.sum(), 1, rtol=1e-4)
    np.testing.assert_allclose((share * places).sum(), kind.mean.item(), rtol=1e-3)
    spread = (share * (places - kind.mean.item()) ** 2).sum()
    np.testing.assert_allclose(spread, kind.variance.item(), rtol=1e-3)
    np.testing.assert_allclose(-(share * log).sum(), kind.entropy().item(), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", KINDS)
def test_samples_have_the_moments(name: str):
    gn.manual_seed(1)
    kind, _ = KINDS[name]
    drawn = kind.sample((20_000,)).numpy()

    assert drawn.shape == (20_000,)
    assert abs(drawn.mean() - kind.mean.item()) < 5 * kind.stddev.item() / 20_000**0.5
    np.testing.assert_allclose(drawn.std(), kind.stddev.item(), rtol=0.1)


@pytest.mark.parametrize("name", KINDS)
def test_a_distance_from_itself_is_nothing(name: str):
    kind, _ = KINDS[name]
    if name != "Gumbel":
        assert D.kl_divergence(kind, kind).item() == pytest.approx(0, abs=1e-6)


def test_distances_follow_their_formulas():
    p, q = D.Normal(0.0, 1.0), D.Normal(1.0, 2.0)

    assert D.kl_divergence(p, q).item() == pytest.approx(np.log(2) + 2 / 8 - 0.5)
    assert D.kl_divergence(D.Uniform(0.0, 2.0), D.Uniform(0.0, 1.0)).item() == np.inf
    with pytest.raises(NotImplementedError, match="no formula for Normal and Cauchy"):
        D.kl_divergence(p, D.Cauchy(0.0, 1.0))


def test_gradients_flow_through_samples():
    loc = gn.zeros(3, requires_grad=True)

    D.Normal(loc, 1.0).rsample((5,)).sum().backward()

    assert loc.grad.tolist() == [5, 5, 5]
    assert not D.Normal(loc, 1.0).sample().requires_grad
    assert D.Normal(0.0, 1.0).cdf(gn.tensor(0.0)).item() == 0.5
