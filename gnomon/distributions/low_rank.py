"""Normal vectors of a covariance of low rank plus a diagonal, and their distances."""

from __future__ import annotations

from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import Distribution, Shape
from gnomon.distributions.kl import of_normals, register_kl
from gnomon.distributions.multivariate import (
    MultivariateNormal,
    log_diagonal,
    product,
    solved,
    squared_length,
)
from gnomon.distributions.parameters import HALF_LOG_TAU, lazy_property
from gnomon.errors import ShapeError
from gnomon.tensor.tensor import Tensor


class LowRankMultivariateNormal(Distribution):
    """Normal vectors whose covariance is W · Wᵀ plus a diagonal."""

    has_rsample = True
    support = constraints.real_vector
    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    mean = mode = property(lambda self: self.loc)
    variance = property(lambda self: (self.cov_factor**2).sum(-1) + self.cov_diag)

    def __init__(
        self,
        loc: Tensor,
        cov_factor: Tensor,
        cov_diag: Tensor,
        validate_args: bool | None = None,
    ) -> None:
        if loc.ndim < 1 or cov_factor.ndim < 2 or cov_factor.shape[-2:-1] != loc.shape[-1:]:
            raise ShapeError(
                "LowRankMultivariateNormal: cov_factor has a row for each element of loc: got "
                f"{tuple(cov_factor.shape)} and {tuple(loc.shape)}."
            )
        batch = gn.broadcast_shapes(
            tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1])
        )
        self.loc, self.cov_diag = loc.expand((*batch, -1)), cov_diag.expand((*batch, -1))
        self.cov_factor = cov_factor.expand((*batch, -1, -1))
        super().__init__(batch, loc.shape[-1:], validate_args)

    @lazy_property
    def _capacitance_tril(self) -> Tensor:
        """The Cholesky factor of 1 + Wᵀ · D⁻¹ · W."""
        inner = (self.cov_factor.mT / self.cov_diag.unsqueeze(-2)) @ self.cov_factor
        return gn.linalg.cholesky(inner + gn.eye(inner.shape[-1], dtype=inner.dtype))

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance."""
        return gn.linalg.cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance, by Woodbury's formula."""
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = solved(self._capacitance_tril, scaled)
        return (1 / self.cov_diag).diag_embed() - inner.mT @ inner

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of LowRankMultivariateNormal."""
        shape, dtype = self._extended_shape(sample_shape), self.loc.dtype
        inner = gn.randn((*shape[:-1], self.cov_factor.shape[-1]), dtype=dtype)
        own = gn.randn(tuple(shape), dtype=dtype)
        return self.loc + product(self.cov_factor, inner) + self.cov_diag.sqrt() * own

    def log_determinant(self) -> Tensor:
        """log of the determinant of the covariance."""
        return 2 * log_diagonal(self._capacitance_tril) + self.cov_diag.log().sum(-1)

    def distance(self, away: Tensor) -> Tensor:
        """away · covariance⁻¹ · away."""
        scaled = away / self.cov_diag
        inner = product(self.cov_factor.mT, scaled)
        return (away * scaled).sum(-1) - squared_length(self._capacitance_tril, inner)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of LowRankMultivariateNormal's density at a checked value."""
        constant = self.event_shape[0] * HALF_LOG_TAU + 0.5 * self.log_determinant()
        return -0.5 * self.distance(value - self.loc) - constant

    def entropy(self) -> Tensor:
        """The entropy of LowRankMultivariateNormal, in nats."""
        return self.event_shape[0] * (0.5 + HALF_LOG_TAU) + 0.5 * self.log_determinant()


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _(p: LowRankMultivariateNormal, q: MultivariateNormal) -> Tensor:
    """The KL divergence of LowRankMultivariateNormal from MultivariateNormal."""
    return of_normals(p, q, 0.5 * p.log_determinant())


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _(p: Any, q: LowRankMultivariateNormal) -> Tensor:
    """The trace is that of D⁻¹ Σp less that of the part that Woodbury's formula takes away."""
    inner = solved(q._capacitance_tril, q.cov_factor.mT / q.cov_diag.unsqueeze(-2))
    own = (p.covariance_matrix.diagonal(dim1=-2, dim2=-1) / q.cov_diag).sum(-1)
    trace = own - ((inner @ p.covariance_matrix) * inner).sum((-2, -1))
    apart = 0.5 * q.log_determinant() - log_diagonal(p.scale_tril)
    return apart + 0.5 * (trace + q.distance(q.loc - p.loc) - p.event_shape[0])
