"""Distributions of shares beside Beta."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.composed import TransformedFamily
from gnomon.distributions.continuous import Uniform
from gnomon.distributions.discrete import ByChance
from gnomon.distributions.distribution import ExponentialFamily, Shape
from gnomon.distributions.elementwise_transforms import AffineTransform, PowerTransform
from gnomon.distributions.parameters import (
    EULER,
    clamp_probs,
    lazy_property,
    log_beta,
    logits_to_probs,
    open_share,
)
from gnomon.distributions.transformed import Law
from gnomon.nn import functional as F
from gnomon.tensor.tensor import Tensor

MIDDLE = (0.499, 0.501)
"""Between these chances a continuous Bernoulli distribution is taken by a series."""


class ContinuousBernoulli(ByChance, ExponentialFamily):
    """The density on [0, 1] that is probs^x (1 − probs)^(1 − x), normalized.

    Source: Loaiza-Ganem and Cunningham, "The continuous Bernoulli" (2019).
    """

    has_rsample = True
    support = constraints.unit_interval
    stddev = property(lambda self: self.variance.sqrt())
    _natural_params = property(lambda self: (self.logits,))

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = MIDDLE,
        validate_args: bool | None = None,
    ) -> None:
        self._lims = lims
        super().__init__(probs, logits, validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The chance, never 0 or 1."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    @property
    def middle(self) -> Tensor:
        """Whether the chance is so near to a half that a series is taken."""
        return (self.probs > self._lims[0]) & (self.probs <= self._lims[1])

    @property
    def outer(self) -> Tensor:
        """The chances, those near to a half replaced."""
        return self.probs.masked_fill(self.middle, self._lims[0])

    @property
    def slope(self) -> Tensor:
        """log(1 − p) − log p of the chances away from a half."""
        return (-self.outer).log1p() - self.outer.log()

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of ContinuousBernoulli's normalizer, by natural parameters."""
        near = x.abs() < 2e-3
        far = x.masked_fill(near, 1.0)
        return gn.where(near, x / 2 + x * x / 24, (far.expm1() / far).log())

    def log_constant(self) -> Tensor:
        """log of what normalizes the density."""
        p, x = self.outer, (self.probs - 0.5) ** 2
        series = math.log(2) + (4 / 3 + 104 / 45 * x) * x
        return gn.where(self.middle, series, (self.slope / (1 - 2 * p)).log())

    @property
    def mean(self) -> Tensor:
        """The mean of ContinuousBernoulli."""
        p, x = self.outer, self.probs - 0.5
        series = 0.5 + (1 / 3 + 16 / 45 * x**2) * x
        return gn.where(self.middle, series, p / (2 * p - 1) + 1 / self.slope)

    @property
    def variance(self) -> Tensor:
        """The variance of ContinuousBernoulli."""
        p, x = self.outer, (self.probs - 0.5) ** 2
        series = 1 / 12 - (1 / 15 - 128 / 945 * x) * x
        return gn.where(self.middle, series, p * (p - 1) / (1 - 2 * p) ** 2 + 1 / self.slope**2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of ContinuousBernoulli."""
        shape = self._extended_shape(sample_shape)
        return self.icdf(open_share(shape, self.probs.dtype))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of ContinuousBernoulli's density at a checked value."""
        logits, value = gn.broadcast_tensors(self.logits, value)
        loss = F.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self.log_constant() - loss

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of ContinuousBernoulli."""
        p, inside = self.outer, value.clamp(0, 1)
        found = (p**inside * (1 - p) ** (1 - inside) + p - 1) / (2 * p - 1)
        return gn.where(self.middle, inside, found)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of ContinuousBernoulli, by cumulative probability."""
        p = self.outer
        away = (-p + value * (2 * p - 1)).log1p() - (-p).log1p()
        return gn.where(self.middle, value, -away / self.slope)

    def entropy(self) -> Tensor:
        """The entropy of ContinuousBernoulli, in nats."""
        no, yes = (-self.probs).log1p(), self.probs.log()
        return self.mean * (no - yes) - self.log_constant() - no


class Kumaraswamy(TransformedFamily):
    """A distribution of shares much like Beta, whose cdf is a formula."""

    support = constraints.unit_interval
    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    mean = property(lambda self: self.moment(1))
    variance = property(lambda self: self.moment(2) - self.moment(1) ** 2)

    def law(self) -> Law:
        """The base distribution and transforms: powers of a Uniform and of its complement."""
        ends = gn.zeros_like(self.concentration0), gn.ones_like(self.concentration0)
        powers = [PowerTransform(1 / c) for c in (self.concentration0, self.concentration1)]
        return Uniform(*ends), [powers[0], AffineTransform(1.0, -1.0), powers[1]]

    def moment(self, power: int) -> Tensor:
        """The mean of a power."""
        b = self.concentration0
        return b * log_beta(1 + power / self.concentration1, b).exp()

    @property
    def mode(self) -> Tensor:
        """The mode of Kumaraswamy."""
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** (1 / a)
        return found.masked_fill((a < 1) | (b < 1), math.nan)

    def entropy(self) -> Tensor:
        """The entropy of Kumaraswamy, in nats."""
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - a.log() - b.log()
