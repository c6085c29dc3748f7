"""Ratios of squares, and excesses over thresholds."""

from __future__ import annotations

import math

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import Family, Shape
from gnomon.distributions.gamma import Gamma, at_least_tiny
from gnomon.tensor.tensor import Tensor


class FisherSnedecor(Family):
    """The ratio of two means of squares, of df1 and of df2 normal numbers."""

    has_rsample = True
    support = constraints.positive
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    mean = property(lambda self: (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan))

    @property
    def mode(self) -> Tensor:
        """The mode of FisherSnedecor."""
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance of FisherSnedecor."""
        one, two = self.df1, self.df2
        found = 2 * two**2 * (one + two - 2) / (one * (two - 2) ** 2 * (two - 4))
        return found.masked_fill(two <= 4, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of FisherSnedecor."""
        above, below = (
            Gamma(df * 0.5, df * 0.5).rsample(sample_shape) for df in (self.df1, self.df2)
        )
        return at_least_tiny(above / below)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of FisherSnedecor's density at a checked value."""
        a, b, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        constant = (a + b).lgamma() - a.lgamma() - b.lgamma() + a * ratio.log()
        return constant + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()


class GeneralizedPareto(Family):
    """Excesses over a threshold loc; concentration 0 makes them exponential."""

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    mode = property(lambda self: self.loc)

    @constraints.dependent_property
    def support(self) -> constraints.Constraint:
        """The constraint that samples of GeneralizedPareto satisfy."""
        top = self.loc - self.scale / self.concentration
        bounded = self.concentration < 0
        return constraints.interval(self.loc, top.masked_fill(~bounded, math.inf))

    @property
    def mean(self) -> Tensor:
        """The mean of GeneralizedPareto."""
        finite = self.loc + self.scale / (1 - self.concentration)
        return finite.masked_fill(self.concentration >= 1, math.nan)

    @property
    def variance(self) -> Tensor:
        """The variance of GeneralizedPareto."""
        c = self.concentration
        return (self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))).masked_fill(c >= 0.5, math.nan)

    def apart(self) -> tuple[Tensor, Tensor]:
        """Whether the concentration is nearly 0, and the concentration, 1 there."""
        straight = gn.isclose(self.concentration, gn.zeros_like(self.concentration))
        return straight, self.concentration.masked_fill(straight, 1.0)

    def steps(self, value: Tensor) -> Tensor:
        """The cumulative hazard, −log(1 − cdf)."""
        straight, c = self.apart()
        away = (value - self.loc) / self.scale
        return gn.where(straight, away, (c * away).log1p() / c)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of GeneralizedPareto's density at a checked value."""
        straight, _ = self.apart()
        c = self.concentration.masked_fill(straight, 0.0)
        inside = (value >= self.loc) & (c * (value - self.loc) / self.scale > -1)
        found = -self.scale.log() - (1 + c) * self.steps(value)
        return gn.where(inside, found, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of GeneralizedPareto."""
        return -(-self.steps(value)).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of GeneralizedPareto, by cumulative probability."""
        straight, c = self.apart()
        steps = -(-value).log1p()
        return self.loc + self.scale * gn.where(straight, steps, (c * steps).expm1() / c)

    def entropy(self) -> Tensor:
        """The entropy of GeneralizedPareto, in nats."""
        return self.scale.log() + self.concentration + 1
