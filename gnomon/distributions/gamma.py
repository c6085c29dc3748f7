"""The gamma distribution and those made of gamma draws."""

from __future__ import annotations

import math

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import ExponentialFamily, Family, Shape
from gnomon.distributions.parameters import LIMITS, lazy_property, xlogy
from gnomon.errors import DtypeError
from gnomon.tensor.rejection import standard_gamma
from gnomon.tensor.tensor import Tensor


def at_least_tiny(x: Tensor) -> Tensor:
    """Positive numbers, none so small that it became 0."""
    return x.clamp(min=LIMITS[x.dtype].tiny)


class Gamma(Family, ExponentialFamily):
    """The gamma distribution: waiting times of several events that come at a rate.

    >>> Gamma(2.0, 1.0).mean
    Tensor(2.)
    """

    has_rsample = True
    support = constraints.nonnegative
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    mean = property(lambda self: self.concentration / self.rate)
    mode = property(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = property(lambda self: self.concentration / self.rate**2)
    _natural_params = property(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of Gamma's normalizer, by natural parameters."""
        return (x + 1).lgamma() - (x + 1) * (-y).log()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of Gamma."""
        shape = self._extended_shape(sample_shape)
        return at_least_tiny(standard_gamma(self.concentration.expand(shape)) / self.rate)

    def log_prob(self, value: Tensor | float) -> Tensor:
        """The logarithm of Gamma's density at a value."""
        return super().log_prob(gn.as_tensor(value, dtype=self.rate.dtype))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Gamma's density at a checked value."""
        c, rate = self.concentration, self.rate
        return xlogy(c, rate) + xlogy(c - 1, value) - rate * value - c.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Gamma."""
        return gn.special.gammainc(*gn.broadcast_tensors(self.concentration, self.rate * value))

    def entropy(self) -> Tensor:
        """The entropy of Gamma, in nats."""
        c = self.concentration
        return c - self.rate.log() + c.lgamma() + (1 - c) * c.digamma()


class Chi2(Gamma):
    """The sum of squares of df normal numbers."""

    arg_constraints = {"df": constraints.positive}
    concentration = property(lambda self: 0.5 * self.df)
    rate = property(lambda self: gn.full_like(self.df, 0.5))


class Dirichlet(ExponentialFamily):
    """Chances of several choices: gamma draws divided by their sum."""

    has_rsample = True
    support = constraints.simplex
    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    total = property(lambda self: self.concentration.sum(-1, keepdim=True))
    mean = property(lambda self: self.concentration / self.total)
    variance = property(lambda self: self.mean * (1 - self.mean) / (self.total + 1))
    _natural_params = property(lambda self: (self.concentration,))

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    @property
    def mode(self) -> Tensor:
        """The mode of Dirichlet."""
        c = self.concentration
        above = (c - 1).clamp(min=0)
        inside = above / above.sum(-1, keepdim=True)
        corner = gn.one_hot(above.argmax(-1), c.shape[-1]).to(c.dtype)
        return gn.where((c < 1).all(-1, keepdim=True), corner, inside)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of Dirichlet's normalizer, by natural parameters."""
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of Dirichlet."""
        kind, shape = self.concentration.dtype, self._extended_shape(sample_shape)
        if not kind.is_floating_point:
            raise DtypeError(f"Dirichlet: draws need floats: got {kind.name}. Use float().")
        # in float64: of small concentrations all of a row's draws are 0 in fewer bits
        drawn = at_least_tiny(standard_gamma(self.concentration.double().expand(shape)))
        shares = (drawn / drawn.sum(-1, keepdim=True)).to(kind)
        return shares.clamp(LIMITS[kind].tiny, 1 - LIMITS[kind].eps / 2)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Dirichlet's density at a checked value."""
        c = self.concentration
        return xlogy(c - 1, value).sum(-1) + c.sum(-1).lgamma() - c.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        """The entropy of Dirichlet, in nats."""
        c, total = self.concentration, self.concentration.sum(-1)
        each = (c.lgamma() - (c - 1) * c.digamma()).sum(-1)
        return each - total.lgamma() - (c.shape[-1] - total) * total.digamma()


class Beta(Family, ExponentialFamily):
    """The share of the first of two choices, by a Dirichlet distribution of both.

    >>> Beta(1.0, 3.0).mean
    Tensor(0.25)
    """

    has_rsample = True
    support = constraints.unit_interval
    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    mean = property(lambda self: self.concentration1 / self.total)
    mode = property(lambda self: self._dirichlet.mode[..., 0])
    total = property(lambda self: self.concentration1 + self.concentration0)
    variance = property(lambda self: self.mean * (1 - self.mean) / (self.total + 1))
    _natural_params = property(lambda self: (self.concentration1, self.concentration0))

    @lazy_property
    def _dirichlet(self) -> Dirichlet:
        """The Dirichlet distribution of the same parameters."""
        return Dirichlet(gn.stack([self.concentration1, self.concentration0], -1))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of Beta's normalizer, by natural parameters."""
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of Beta."""
        return self._dirichlet.rsample(sample_shape)[..., 0]

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Beta's density at a checked value."""
        return self._dirichlet.log_prob(gn.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        """The entropy of Beta, in nats."""
        return self._dirichlet.entropy()


class StudentT(Family):
    """The means of df + 1 normal numbers over their standard errors."""

    has_rsample = True
    support = constraints.real
    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    defaults = {"loc": 0.0, "scale": 1.0}
    mean = property(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """The variance of StudentT."""
        finite = self.scale**2 * self.df / (self.df - 2)
        return finite.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of StudentT."""
        normal = gn.randn(tuple(self._extended_shape(sample_shape)), dtype=self.df.dtype)
        squares = Chi2(self.df).rsample(sample_shape)
        return self.loc + self.scale * normal * (squares / self.df).rsqrt()

    def log_beta(self) -> Tensor:
        """log of the beta function of df / 2 and 1 / 2."""
        return (0.5 * self.df).lgamma() + math.lgamma(0.5) - (0.5 * (self.df + 1)).lgamma()

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of StudentT's density at a checked value."""
        away = (value - self.loc) / self.scale
        constant = self.scale.log() + 0.5 * self.df.log() + self.log_beta()
        return -0.5 * (self.df + 1.0) * (away**2 / self.df).log1p() - constant

    def entropy(self) -> Tensor:
        """The entropy of StudentT, in nats."""
        half = 0.5 * (self.df + 1)
        apart = half.digamma() - (0.5 * self.df).digamma()
        return self.scale.log() + half * apart + 0.5 * self.df.log() + self.log_beta()
