"""Distributions of real numbers, all by a formula from uniform or normal draws."""

from __future__ import annotations

import math
from typing import Any

from gnomon.distributions.distribution import (
    Distribution,
    Shape,
    register_kl,
    replaced,
    together,
)
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.random import rand, randn
from gnomon.tensor.tensor import Tensor

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)
EULER = 0.5772156649015329


class Located(Distribution):
    """A density moved by loc and stretched by scale."""

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = together(loc, scale)
        super().__init__(self.loc.shape)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """Where the density is largest."""
        return self.loc

    def standard(self, shape: Shape) -> Tensor:
        """Samples with loc 0 and scale 1."""
        raise NotImplementedError

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to loc and scale."""
        return self.loc + self.standard(self.extended(sample_shape)) * self.scale


def open_share(shape: Shape, dtype: object) -> Tensor:
    """Uniform draws of (0, 1), neither end among them."""
    return rand(tuple(shape), dtype=dtype) * (1 - 2.0**-23) + 2.0**-24


class Normal(Located):
    """The normal distribution."""

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.scale**2

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.scale

    def standard(self, shape: Shape) -> Tensor:
        """Samples with loc 0 and scale 1."""
        return randn(tuple(shape), dtype=self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        away = value - self.loc
        return -(away**2) / (2 * self.scale**2) - self.scale.log() - HALF_LOG_TAU

    def entropy(self) -> Tensor:
        """The entropy."""
        return 0.5 + HALF_LOG_TAU + self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        """The chance of what is smaller."""
        return 0.5 * (1 + ((value - self.loc) / (self.scale * math.sqrt(2))).erf())


class LogNormal(Normal):
    """exp of the normal distribution."""

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def mode(self) -> Tensor:
        """Where the density is largest."""
        return (self.loc - self.scale**2).exp()

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to loc and scale."""
        return super().rsample(sample_shape).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return super().log_prob(value.log()) - value.log()

    def entropy(self) -> Tensor:
        """The entropy."""
        return super().entropy() + self.loc

    def cdf(self, value: Tensor) -> Tensor:
        """The chance of what is smaller."""
        return super().cdf(value.log())


class Laplace(Located):
    """The Laplace distribution."""

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 2 * self.scale**2

    def standard(self, shape: Shape) -> Tensor:
        """Samples with loc 0 and scale 1."""
        share = open_share(shape, self.loc.dtype) - 0.5
        return -share.sign() * (-2 * share.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def entropy(self) -> Tensor:
        """The entropy."""
        return 1 + (2 * self.scale).log()


class Gumbel(Located):
    """The distribution of the largest of many."""

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc + self.scale * EULER

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (math.pi**2 / 6) * self.scale**2

    def standard(self, shape: Shape) -> Tensor:
        """Samples with loc 0 and scale 1."""
        return -(-open_share(shape, self.loc.dtype).log()).log()

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        """The entropy."""
        return self.scale.log() + (1 + EULER)


class Uniform(Distribution):
    """The same density everywhere from low to high."""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = together(low, high)
        super().__init__(self.low.shape)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return (self.high + self.low) / 2

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return (self.high - self.low) ** 2 / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to both ends."""
        share = rand(tuple(self.extended(sample_shape)), dtype=self.low.dtype)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        """The entropy."""
        return (self.high - self.low).log()


class Exponential(Distribution):
    """Times between events that come at a rate."""

    has_rsample = True

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = together(rate)
        super().__init__(self.rate.shape)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return 1 / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return 1 / self.rate**2

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to the rate."""
        return -open_share(self.extended(sample_shape), self.rate.dtype).log() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density."""
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        """The entropy."""
        return 1.0 - self.rate.log()


@register_kl(Normal, Normal)
def normals(p: Normal, q: Normal) -> Tensor:
    """Of two normal distributions."""
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def laplaces(p: Laplace, q: Laplace) -> Tensor:
    """Of two Laplace distributions."""
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Exponential, Exponential)
def exponentials(p: Exponential, q: Exponential) -> Tensor:
    """Of two exponential distributions."""
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Uniform, Uniform)
def uniforms(p: Uniform, q: Uniform) -> Tensor:
    """Of two uniform distributions: infinite where p reaches further than q."""
    distance = ((q.high - q.low) / (p.high - p.low)).log()
    return replaced(distance, FUNCTIONS["logical_or"](q.low > p.low, q.high < p.high), math.inf)
