"""Distributions of real numbers, all by a formula from uniform or normal draws."""

from __future__ import annotations

import math

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import ExponentialFamily, Family, Shape, check
from gnomon.distributions.parameters import EULER, HALF_LOG_TAU
from gnomon.tensor.tensor import Tensor


class Located(Family):
    """A density moved by loc and stretched by scale."""

    has_rsample = True
    support = constraints.real
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    def standardized(self, value: Tensor) -> Tensor:
        """Values as those with loc 0 and scale 1."""
        return (value - self.loc) / self.scale


class Normal(Located, ExponentialFamily):
    """The normal distribution.

    >>> Normal(0.0, 1.0).log_prob(gn.tensor(0.0))
    Tensor(-0.9189)
    """

    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)
    _natural_params = property(lambda self: (self.loc / self.scale**2, -0.5 / self.scale**2))
    _mean_carrier_measure = 0

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of Normal's normalizer, by natural parameters."""
        return -0.25 * x**2 / y + 0.5 * (-math.pi / y).log()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of Normal."""
        shape = tuple(self._extended_shape(sample_shape))
        return self.loc + gn.randn(shape, dtype=self.loc.dtype) * self.scale

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Normal's density at a checked value."""
        away = value - self.loc
        return -(away**2) / (2 * self.scale**2) - self.scale.log() - HALF_LOG_TAU

    def entropy(self) -> Tensor:
        """The entropy of Normal, in nats."""
        return 0.5 + HALF_LOG_TAU + self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Normal."""
        return 0.5 * (1 + (self.standardized(value) / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Normal, by cumulative probability."""
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)


class Laplace(Located):
    """The Laplace distribution."""

    stddev = property(lambda self: math.sqrt(2) * self.scale)
    variance = property(lambda self: 2 * self.scale**2)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Laplace's density at a checked value."""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Tensor:
        """The entropy of Laplace, in nats."""
        return 1 + (2 * self.scale).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Laplace."""
        away = self.standardized(value)
        return 0.5 - 0.5 * away.sign() * (-away.abs()).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Laplace, by cumulative probability."""
        away = value - 0.5
        return self.loc - self.scale * away.sign() * (-2 * away.abs()).log1p()


class Cauchy(Located):
    """The Cauchy distribution, which has no mean and no variance."""

    mean = property(lambda self: self.loc * math.nan)
    variance = property(lambda self: self.loc + math.inf)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Cauchy's density at a checked value."""
        return -math.log(math.pi) - self.scale.log() - (self.standardized(value) ** 2).log1p()

    def entropy(self) -> Tensor:
        """The entropy of Cauchy, in nats."""
        return math.log(4 * math.pi) + self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Cauchy."""
        return self.standardized(value).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Cauchy, by cumulative probability."""
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc


class Gumbel(Located):
    """The distribution of the largest of many."""

    mean = property(lambda self: self.loc + self.scale * EULER)
    stddev = property(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = property(lambda self: (math.pi**2 / 6) * self.scale**2)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Gumbel's density at a checked value."""
        y = -self.standardized(value)
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        """The entropy of Gumbel, in nats."""
        return self.scale.log() + (1 + EULER)

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Gumbel."""
        return (-(-self.standardized(value)).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Gumbel, by cumulative probability."""
        return self.loc - self.scale * (-value.log()).log()


class Uniform(Family):
    """Equal density everywhere from low to high."""

    has_rsample = True
    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: self.high * math.nan)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low) ** 2 / 12)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """The constraint that samples of Uniform satisfy."""
        return constraints.interval(self.low, self.high)

    def _check_parameters(self) -> None:
        """Refuse parameters outside of their constraints."""
        check("Uniform: low", constraints.less_than(self.high), self.low)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Uniform's density at a checked value."""
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        """The entropy of Uniform, in nats."""
        return (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Uniform."""
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Uniform, by cumulative probability."""
        return value * (self.high - self.low) + self.low


class Exponential(Family, ExponentialFamily):
    """Times between events that come at a rate."""

    has_rsample = True
    support = constraints.nonnegative
    arg_constraints = {"rate": constraints.positive}
    mean = stddev = property(lambda self: 1 / self.rate)
    mode = property(lambda self: gn.zeros_like(self.rate))
    variance = property(lambda self: 1 / self.rate**2)
    _natural_params = property(lambda self: (-self.rate,))
    _mean_carrier_measure = 0

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of Exponential's normalizer, by natural parameters."""
        return -(-x).log()

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Exponential's density at a checked value."""
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        """The entropy of Exponential, in nats."""
        return 1.0 - self.rate.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Exponential."""
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Exponential, by cumulative probability."""
        return -(-value).log1p() / self.rate
