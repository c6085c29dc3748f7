"""Distributions made of others."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError, ShapeError


def test_a_squashed_normal_is_what_actors_sample():
    loc = gn.zeros(4, 2, requires_grad=True)
    base = D.Normal(loc, gn.ones(4, 2))
    actor = D.TransformedDistribution(base, [D.TanhTransform(cache_size=1)])
    action = actor.rsample()
    actor.log_prob(action).sum().backward()

    assert (action.abs() < 1).all()
    assert loc.grad.shape == (4, 2)
    x = actor.transforms[0].inv(action)
    assert actor.transforms[0](x) is action
    whole = D.Independent(actor, 1)
    assert (whole.batch_shape, whole.event_shape) == ((4,), (2,))


def test_transforms_are_compared_by_what_was_said():
    p = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()])
    q = D.TransformedDistribution(D.Normal(1.0, 1.0), [D.ExpTransform()])
    other = D.TransformedDistribution(D.Normal(0.0, 1.0), [D.TanhTransform()])

    assert D.kl_divergence(p, q).item() == 0.5
    with pytest.raises(NotImplementedError, match="transforms of both differ"):
        D.kl_divergence(p, other)
    with pytest.raises(ArgumentError, match="needs Transforms"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), ["exp"])
    with pytest.raises(ShapeError, match="too few"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())


def test_a_mixture_has_the_moments_of_its_samples():
    gn.manual_seed(1)
    mixture = D.MixtureSameFamily(
        D.Categorical(gn.tensor([0.25, 0.75])),
        D.Normal(gn.tensor([-2.0, 2.0]), gn.tensor([0.5, 1.0])),
    )
    drawn = mixture.sample((20_000,)).numpy()
    places = np.linspace(-12, 12, 20_001)
    density = np.exp(mixture.log_prob(gn.tensor(places)).numpy())

    assert drawn.mean() == pytest.approx(mixture.mean.item(), abs=0.07)
    assert drawn.std() == pytest.approx(mixture.stddev.item(), rel=0.03)
    assert density.sum() * 24 / 20_000 == pytest.approx(1, abs=1e-6)
    assert mixture.cdf(gn.tensor(100.0)).item() == 1
    assert mixture.expand((3,)).sample((2,)).shape == (2, 3)
    with pytest.raises(ShapeError, match="components are the last axis"):
        D.MixtureSameFamily(D.Categorical(gn.ones(3)), D.Normal(gn.zeros(2), 1.0))


def test_a_vector_may_be_a_mixtures_event():
    parts = D.MultivariateNormal(gn.zeros(2, 3), gn.eye(3))
    mixture = D.MixtureSameFamily(D.Categorical(gn.ones(2)), parts)

    assert mixture.sample((5,)).shape == (5, 3)
    np.testing.assert_allclose(
        mixture.log_prob(gn.zeros(3)).item(), parts.log_prob(gn.zeros(3))[0].item(), rtol=1e-6
    )
