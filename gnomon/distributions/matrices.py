"""Distributions of covariance and of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import Distribution, Shape
from gnomon.distributions.gamma import Beta, Chi2
from gnomon.distributions.multivariate import MATRIX, ByMatrix, factor_of, log_diagonal, solved
from gnomon.distributions.parameters import LIMITS, broadcast_all, lazy_property
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.tensor.tensor import Tensor


def over_dimensions(function: Any, a: Tensor, p: int) -> Tensor:
    """Σ function(a − j / 2) over j < p."""
    steps = gn.arange(p, dtype=a.dtype) / 2
    return function(a.unsqueeze(-1) - steps).sum(-1)


def multivariate_lgamma(a: Tensor, p: int) -> Tensor:
    """log of the gamma function of p dimensions."""
    return over_dimensions(gn.lgamma, a, p) + 0.25 * p * (p - 1) * math.log(math.pi)


class Wishart(ByMatrix):
    """Sums of outer products of df normal vectors."""

    has_rsample = True
    support = MATRIX
    arg_constraints = {
        "covariance_matrix": MATRIX,
        "precision_matrix": MATRIX,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    mean = property(lambda self: self.wide_df * self.covariance_matrix)
    wide_df = property(lambda self: self.df[..., None, None])

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self.given(covariance_matrix, precision_matrix, scale_tril)
        df = df if isinstance(df, Tensor) else gn.tensor(float(df), dtype=matrix.dtype)
        batch = gn.broadcast_shapes(tuple(df.shape), tuple(matrix.shape[:-2]))
        self.df = df.expand(batch)
        vars(self)[name] = matrix.expand((*batch, -1, -1))
        super().__init__(batch, matrix.shape[-2:], validate_args)
        self._unbroadcasted_scale_tril = factor_of(name, matrix)

    @property
    def mode(self) -> Tensor:
        """The mode of Wishart."""
        more = self.wide_df - self.event_shape[0] - 1
        return more.masked_fill(more <= 0, math.nan) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        """The variance of Wishart."""
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.wide_df * (v**2 + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of Wishart."""
        p, shape = self.event_shape[0], self._extended_shape(sample_shape)
        degrees = self.df.unsqueeze(-1) - gn.arange(p, dtype=self.df.dtype)
        roots = Chi2(degrees).rsample(sample_shape).sqrt()
        noise = gn.randn(tuple(shape), dtype=self.df.dtype).tril(-1) + roots.diag_embed()
        low = self.scale_tril @ noise
        return low @ low.mT

    def log_scale(self) -> Tensor:
        """p · log(2) / 2 plus half the logarithm of the determinant."""
        return self.event_shape[0] * math.log(2) / 2 + log_diagonal(self.scale_tril)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Wishart's density at a checked value."""
        df, p = self.df, self.event_shape[0]
        low = gn.linalg.cholesky(value)
        inner = solved(self.scale_tril, low)
        constant = df * self.log_scale() + multivariate_lgamma(df / 2, p)
        return (df - p - 1) * log_diagonal(low) - 0.5 * (inner**2).sum((-2, -1)) - constant

    def entropy(self) -> Tensor:
        """The entropy of Wishart, in nats."""
        df, p = self.df, self.event_shape[0]
        slopes = over_dimensions(gn.digamma, df / 2, p)
        whole = (p + 1) * self.log_scale() + multivariate_lgamma(df / 2, p)
        return whole - (df - p - 1) / 2 * slopes + df * p / 2


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices (Lewandowski and others 2009), by the onion."""

    support = constraints.corr_cholesky
    arg_constraints = {"concentration": constraints.positive}

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ArgumentError(f"LKJCholesky: dim is at least 2: got {dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)

    @lazy_property
    def _beta(self) -> Beta:
        """The squared length of each row's part below the diagonal."""
        c, before = self.concentration, gn.arange(self.dim - 1, dtype=self.concentration.dtype)
        first = (c + 0.5 * (self.dim - 2)).unsqueeze(-1) - 0.5 * before
        return Beta((before + 1) / 2, first)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of LKJCholesky."""
        with gn.no_grad():
            lengths = self._beta.sample(sample_shape)
            shape = (*self._extended_shape(sample_shape)[:-2], self.dim - 1, self.dim)
            ways = gn.randn(shape, dtype=lengths.dtype).tril(0)
            rows = lengths.sqrt().unsqueeze(-1) * F.normalize(ways, dim=-1)
            last = (1 - lengths).clamp(min=LIMITS[lengths.dtype].tiny).sqrt()
            return F.pad(rows, [0, 0, 1, 0]) + F.pad(last, [1, 0], value=1).diag_embed()

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of LKJCholesky's density at a checked value."""
        c, p = self.concentration, self.dim - 1
        order = 2 * (c - 1).unsqueeze(-1) + gn.arange(p - 1, -1, -1, dtype=c.dtype)
        each = (order * value.diagonal(dim1=-2, dim2=-1)[..., 1:].log()).sum(-1)
        alpha = c + 0.5 * p
        volume = multivariate_lgamma(alpha - 0.5, p) - p * alpha.lgamma()
        return each - volume - 0.5 * p * math.log(math.pi)
