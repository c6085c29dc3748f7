"""Choices relaxed to real numbers at a temperature, through which gradients flow.

Sources: Maddison and others, "The Concrete distribution" (2017); Jang and others, "Categorical
reparameterization with Gumbel-softmax" (2017).
"""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.composed import TransformedDistribution
from gnomon.distributions.discrete import ByCategorical, ByChance
from gnomon.distributions.distribution import Shape
from gnomon.distributions.elementwise_transforms import ExpTransform, SigmoidTransform
from gnomon.distributions.parameters import clamp_probs, open_share, probs_to_logits
from gnomon.nn import functional as F
from gnomon.tensor.tensor import Tensor


class Tempered:
    """Base: chances, or their logits, at a temperature."""

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = gn.as_tensor(temperature)
        super().__init__(probs, logits, validate_args)


class LogitRelaxedBernoulli(Tempered, ByChance):
    """The logits of relaxed answers yes or no."""

    has_rsample = True
    support = constraints.real

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of LogitRelaxedBernoulli."""
        probs = clamp_probs(self.probs.expand(self._extended_shape(sample_shape)))
        share = clamp_probs(open_share(probs.shape, probs.dtype))
        drawn = probs_to_logits(share, True) + probs_to_logits(probs, True)
        return drawn / self.temperature

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of LogitRelaxedBernoulli's density at a checked value."""
        away = self.logits - value * self.temperature
        return self.temperature.log() + away - 2 * F.softplus(away)


class ExpRelaxedCategorical(Tempered, ByCategorical):
    """The logarithms of relaxed choices."""

    has_rsample = True
    support = constraints.real_vector

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of ExpRelaxedCategorical."""
        share = open_share(self._extended_shape(sample_shape), self.logits.dtype)
        return ((self.logits - (-share.log()).log()) / self.temperature).log_softmax(-1)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of ExpRelaxedCategorical's density at a checked value."""
        count = self.event_shape[0]
        scale = math.lgamma(count) + (count - 1) * self.temperature.log()
        return (self.logits - value * self.temperature).log_softmax(-1).sum(-1) + scale


class Relaxed(TransformedDistribution):
    """Base: a transform of relaxed logits."""

    relaxed: Any
    onto: Any
    temperature = property(lambda self: self.base_dist.temperature)
    logits = property(lambda self: self.base_dist.logits)
    probs = property(lambda self: self.base_dist.probs)

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self.relaxed(temperature, probs, logits), self.onto(), validate_args)

    def _get_checked_instance(self, kind: type, instance: Any = None) -> Any:
        """A new object for expand(), or the given one; subclasses need no expand() of their own."""
        return self.__new__(type(self)) if instance is None else instance


class RelaxedBernoulli(Relaxed):
    """Answers yes or no, relaxed to (0, 1)."""

    support = constraints.unit_interval
    arg_constraints = ByChance.arg_constraints
    has_rsample = True
    relaxed, onto = LogitRelaxedBernoulli, SigmoidTransform


class RelaxedOneHotCategorical(Relaxed):
    """Choices as vectors, relaxed to chances."""

    support = constraints.simplex
    arg_constraints = ByCategorical.arg_constraints
    has_rsample = True
    relaxed, onto = ExpRelaxedCategorical, ExpTransform
