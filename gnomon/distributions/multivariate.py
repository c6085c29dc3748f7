"""Normal vectors, and distributions of covariance matrices."""

from __future__ import annotations

from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import ExponentialFamily, Shape
from gnomon.distributions.parameters import HALF_LOG_TAU, lazy_property
from gnomon.errors import ArgumentError, ShapeError
from gnomon.tensor.tensor import Tensor

MATRIX = constraints.positive_definite


def solved(low: Tensor, x: Tensor) -> Tensor:
    """L⁻¹ · x of lower triangles and matrices."""
    return gn.linalg.solve_triangular(low, x, upper=False)


def squared_length(low: Tensor, x: Tensor) -> Tensor:
    """|L⁻¹ x|² of vectors."""
    return (solved(low, x.unsqueeze(-1)).squeeze(-1) ** 2).sum(-1)


def log_diagonal(low: Tensor) -> Tensor:
    """Half the logarithm of the determinant of L · Lᵀ."""
    return low.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def inverse_by(low: Tensor) -> Tensor:
    """The inverse of L · Lᵀ."""
    inverse = solved(low, gn.eye(low.shape[-1], dtype=low.dtype).expand(low.shape))
    return inverse.mT @ inverse


def product(matrix: Tensor, x: Tensor) -> Tensor:
    """A matrix times vectors."""
    return (matrix @ x.unsqueeze(-1)).squeeze(-1)


def factor_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance that a matrix of this name gives."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return gn.linalg.cholesky(matrix)
    # P = Uᵀ · U for an upper triangle's flip, so that the factor is the inverse of a triangle
    turned = gn.linalg.cholesky(matrix.flip((-2, -1))).flip((-2, -1)).mT
    return solved(turned, gn.eye(turned.shape[-1], dtype=turned.dtype).expand(turned.shape))


class ByMatrix(ExponentialFamily):
    """Base: given by a covariance, its inverse or its Cholesky factor."""

    def given(
        self, covariance_matrix: Any, precision_matrix: Any, scale_tril: Any
    ) -> tuple[str, Tensor]:
        """The name of the matrix that was given, and the matrix."""
        named = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        found = [(name, x) for name, x in named.items() if x is not None]
        if len(found) != 1:
            raise ArgumentError(
                f"{type(self).__name__}: needs one of covariance_matrix, precision_matrix and "
                f"scale_tril: got {len(found)} of them."
            )
        if found[0][1].ndim < 2:
            raise ShapeError(
                f"{type(self).__name__}: {found[0][0]} is a matrix: got {tuple(found[0][1].shape)}."
            )
        return found[0]

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return self._unbroadcasted_scale_tril.expand((*self._batch_shape, -1, -1))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.scale_tril @ self.scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return inverse_by(self.scale_tril)


class MultivariateNormal(ByMatrix):
    """Normal vectors whose elements vary together.

    >>> MultivariateNormal(gn.zeros(2), gn.eye(2)).log_prob(gn.zeros(2))
    Tensor(-1.8379)
    """

    has_rsample = True
    support = constraints.real_vector
    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": MATRIX,
        "precision_matrix": MATRIX,
        "scale_tril": constraints.lower_cholesky,
    }
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.scale_tril**2).sum(-1))

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1:
            raise ShapeError("MultivariateNormal: loc is a vector: got a number.")
        name, matrix = self.given(covariance_matrix, precision_matrix, scale_tril)
        batch = gn.broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        self.loc = loc.expand((*batch, -1))
        vars(self)[name] = matrix.expand((*batch, -1, -1))
        super().__init__(batch, loc.shape[-1:], validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)  # subclasses of users define it

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of MultivariateNormal."""
        shape = tuple(self._extended_shape(sample_shape))
        return self.loc + product(self.scale_tril, gn.randn(shape, dtype=self.loc.dtype))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of MultivariateNormal's density at a checked value."""
        away = squared_length(self.scale_tril, value - self.loc)
        constant = self.event_shape[0] * HALF_LOG_TAU + log_diagonal(self.scale_tril)
        return -0.5 * away - constant

    def entropy(self) -> Tensor:
        """The entropy of MultivariateNormal, in nats."""
        return self.event_shape[0] * (0.5 + HALF_LOG_TAU) + log_diagonal(self.scale_tril)
