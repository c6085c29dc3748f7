"""Families of distributions that are a transform of another family's."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.composed import TransformedDistribution, TransformedFamily
from gnomon.distributions.continuous import Cauchy, Exponential, Normal
from gnomon.distributions.distribution import Distribution
from gnomon.distributions.elementwise_transforms import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
)
from gnomon.distributions.gamma import Gamma
from gnomon.distributions.matrix_transforms import StickBreakingTransform
from gnomon.distributions.parameters import EULER
from gnomon.distributions.transform import Transform
from gnomon.tensor.tensor import Tensor

Law = tuple[Distribution, list[Transform]]


class LogNormal(TransformedFamily):
    """exp of the normal distribution."""

    support = constraints.positive
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    mean = property(lambda self: (self.loc + self.scale**2 / 2).exp())
    mode = property(lambda self: (self.loc - self.scale**2).exp())

    def law(self) -> Law:
        """The base distribution and transforms: e to the power of a Normal."""
        return Normal(self.loc, self.scale), [ExpTransform()]

    @property
    def variance(self) -> Tensor:
        """The variance of LogNormal."""
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    def entropy(self) -> Tensor:
        """The entropy of LogNormal, in nats."""
        return self.base_dist.entropy() + self.loc


class LogisticNormal(TransformedDistribution):
    """Chances of several choices: a normal vector through stick-breaking."""

    support = constraints.simplex
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale)
        base = base if base.batch_shape else base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args)

    def _get_checked_instance(self, kind: type, instance: Any = None) -> Any:
        """A new object for expand(), or the given one; subclasses need no expand() of their own."""
        return self.__new__(type(self)) if instance is None else instance


class Half(TransformedFamily):
    """Base: what is symmetric around 0, without its sign."""

    support = constraints.nonnegative
    arg_constraints = {"scale": constraints.positive}
    mode = property(lambda self: gn.zeros_like(self.scale))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Half's density at a checked value."""
        found = self.base_dist.log_prob(value) + math.log(2)
        return gn.where(value >= 0, found, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of Half."""
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of Half, by cumulative probability."""
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        """The entropy of Half, in nats."""
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(Half):
    """The size of a normal number."""

    mean = property(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = property(lambda self: self.scale**2 * (1 - 2 / math.pi))

    def law(self) -> Law:
        """The base distribution and transforms: |x| of a Normal."""
        return Normal(0.0, self.scale), [AbsTransform()]


class HalfCauchy(Half):
    """The size of a number of the Cauchy distribution."""

    mean = variance = property(lambda self: self.scale + math.inf)

    def law(self) -> Law:
        """The base distribution and transforms: |x| of a Cauchy."""
        return Cauchy(0.0, self.scale), [AbsTransform()]


class Pareto(TransformedFamily):
    """Sizes above scale that become rare as a power of alpha."""

    arg_constraints = {"scale": constraints.positive, "alpha": constraints.positive}
    mode = property(lambda self: self.scale)

    def law(self) -> Law:
        """The base distribution and transforms: scaled e to the power of an Exponential."""
        return Exponential(self.alpha), [ExpTransform(), AffineTransform(0, self.scale)]

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that samples of Pareto satisfy."""
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        """The mean of Pareto."""
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        """The variance of Pareto."""
        a = self.alpha.clamp(min=2)
        return self.scale**2 * a / ((a - 1) ** 2 * (a - 2))

    def entropy(self) -> Tensor:
        """The entropy of Pareto, in nats."""
        return (self.scale / self.alpha).log() + 1 + 1 / self.alpha


class Weibull(TransformedFamily):
    """Times until a failure whose rate rises or falls as a power of time."""

    support = constraints.positive
    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    mean = property(lambda self: self.moment(1))
    variance = property(lambda self: self.moment(2) - self.moment(1) ** 2)

    def law(self) -> Law:
        """The base distribution and transforms: a scaled power of an Exponential."""
        steps = [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]
        return Exponential(gn.ones_like(self.scale)), steps

    def moment(self, power: int) -> Tensor:
        """The mean of a power."""
        return self.scale**power * (1 + power / self.concentration).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        """The mode of Weibull."""
        c = self.concentration
        return self.scale * ((c - 1) / c) ** (1 / c)

    def entropy(self) -> Tensor:
        """The entropy of Weibull, in nats."""
        c = self.concentration
        return EULER * (1 - 1 / c) + (self.scale / c).log() + 1


class InverseGamma(TransformedFamily):
    """One over a number of the gamma distribution."""

    support = constraints.positive
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    mode = property(lambda self: self.rate / (self.concentration + 1))

    def law(self) -> Law:
        """The base distribution and transforms: 1 / x of a Gamma."""
        return Gamma(self.concentration, self.rate), [PowerTransform(-1.0)]

    @property
    def mean(self) -> Tensor:
        """The mean of InverseGamma."""
        c = self.concentration
        return (self.rate / (c - 1)).masked_fill(c <= 1, math.inf)

    @property
    def variance(self) -> Tensor:
        """The variance of InverseGamma."""
        c = self.concentration
        return (self.rate**2 / ((c - 1) ** 2 * (c - 2))).masked_fill(c <= 2, math.inf)

    def entropy(self) -> Tensor:
        """The entropy of InverseGamma, in nats."""
        c = self.concentration
        return c + self.rate.log() + c.lgamma() - (1 + c) * c.digamma()
