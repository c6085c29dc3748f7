"""Distributions of matrices, and normal vectors of low rank."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError


def test_a_wishart_distribution_has_its_moments():
    gn.manual_seed(1)
    kind = D.Wishart(6.0, gn.tensor([[2.0, 0.5], [0.5, 1.0]]))
    drawn = kind.sample((10_000,)).numpy()

    np.testing.assert_allclose(drawn.mean(0), kind.mean.numpy(), rtol=0.05)
    np.testing.assert_allclose(drawn.var(0), kind.variance.numpy(), rtol=0.1)


def test_factors_of_correlations_have_rows_of_length_one():
    gn.manual_seed(2)
    drawn = D.LKJCholesky(3, 1.0).sample((4000,))
    whole = (drawn @ drawn.mT).numpy()

    np.testing.assert_allclose(np.diagonal(whole, axis1=1, axis2=2), 1, rtol=1e-5)
    # for concentration 1 each correlation of three is spread with variance 1 / 4
    np.testing.assert_allclose(whole[:, 0, 1].var(), 0.25, rtol=0.1)
    np.testing.assert_allclose(whole[:, 1, 2].var(), 0.25, rtol=0.1)
    with pytest.raises(ArgumentError, match="dim is at least 2"):
        D.LKJCholesky(1)


def test_a_covariance_of_low_rank_is_that_of_samples():
    gn.manual_seed(3)
    factor = gn.tensor([[1.0], [2.0], [0.0]])
    kind = D.LowRankMultivariateNormal(gn.zeros(3), factor, gn.tensor([0.5, 1.0, 2.0]))
    drawn = kind.sample((20_000,)).numpy()

    np.testing.assert_allclose(np.cov(drawn.T), kind.covariance_matrix.numpy(), atol=0.12)
    np.testing.assert_allclose(
        (kind.precision_matrix @ kind.covariance_matrix).numpy(), np.eye(3), atol=1e-5
    )
