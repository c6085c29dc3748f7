"""Normal vectors."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import distributions as D
from gnomon.errors import ArgumentError, ShapeError

COVARIANCE = np.array([[2.0, 0.6, 0.0], [0.6, 1.0, -0.2], [0.0, -0.2, 0.5]])


def test_samples_have_the_covariance():
    gn.manual_seed(1)
    by_matrix = D.MultivariateNormal(gn.ones(3), gn.tensor(COVARIANCE).float())
    drawn = by_matrix.sample((20_000,)).numpy()

    np.testing.assert_allclose(drawn.mean(0), 1, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), COVARIANCE, atol=0.06)


def test_every_matrix_says_the_same():
    kinds = [
        D.MultivariateNormal(gn.zeros(3), covariance_matrix=gn.tensor(COVARIANCE)),
        D.MultivariateNormal(gn.zeros(3), precision_matrix=gn.tensor(np.linalg.inv(COVARIANCE))),
        D.MultivariateNormal(gn.zeros(3), scale_tril=gn.tensor(np.linalg.cholesky(COVARIANCE))),
    ]
    for kind in kinds:
        np.testing.assert_allclose(kind.covariance_matrix.numpy(), COVARIANCE, atol=1e-12)
        np.testing.assert_allclose(
            kind.precision_matrix.numpy(), np.linalg.inv(COVARIANCE), atol=1e-12
        )
        np.testing.assert_allclose(kind.variance.numpy(), np.diag(COVARIANCE))


def test_gradients_flow_to_the_matrix():
    low = gn.eye(3).requires_grad_()
    D.MultivariateNormal(gn.zeros(3), scale_tril=low).rsample((5,)).sum().backward()

    assert low.grad.shape == (3, 3)
    with pytest.raises(ArgumentError, match="needs one of covariance_matrix"):
        D.MultivariateNormal(gn.zeros(3))
    with pytest.raises(ShapeError, match="loc is a vector"):
        D.MultivariateNormal(gn.tensor(0.0), gn.eye(1))
    with pytest.raises(ShapeError, match="scale_tril is a matrix"):
        D.MultivariateNormal(gn.zeros(3), scale_tril=gn.ones(3))
