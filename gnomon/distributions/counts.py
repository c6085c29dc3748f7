"""Distributions of counts."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.discrete import ByCategorical, ByChance
from gnomon.distributions.distribution import ExponentialFamily, Family, Shape
from gnomon.distributions.gamma import Gamma
from gnomon.distributions.parameters import xlogy
from gnomon.nn import functional as F
from gnomon.tensor.rejection import binomial, poisson
from gnomon.tensor.tensor import Tensor


class Binomial(ByChance):
    """Successes among total_count tries."""

    has_enumerate_support = True
    arg_constraints = {"total_count": constraints.nonnegative_integer} | ByChance.arg_constraints
    defaults = {"total_count": 1} | ByChance.defaults
    mean = property(lambda self: self.total_count * self.probs)
    variance = property(lambda self: self.mean * (1 - self.probs))

    @constraints.dependent_property(is_discrete=True)
    def support(self) -> Any:
        """The constraint that samples of Binomial satisfy."""
        return constraints.integer_interval(0, self.total_count)

    @property
    def mode(self) -> Tensor:
        """The mode of Binomial."""
        return gn.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Binomial."""
        shape = self._extended_shape(sample_shape)
        with gn.no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Binomial's density at a checked value."""
        ways = (self.total_count + 1).lgamma() - (value + 1).lgamma()
        ways = ways - (self.total_count - value + 1).lgamma()
        return ways + value * self.logits - self.total_count * F.softplus(self.logits)

    def entropy(self) -> Tensor:
        """The entropy of Binomial, in nats."""
        each = self.log_density(self.enumerate_support(False))
        return -(each.exp() * each).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of Binomial, along a new first axis."""
        most = int(self.total_count.max())
        if not bool((self.total_count == most).all()):
            raise NotImplementedError(
                "Binomial: values are listed where all total_count are equal."
            )
        return self.listed(most + 1, expand)


class NegativeBinomial(ByChance):
    """Successes before total_count failures."""

    support = constraints.nonnegative_integer
    arg_constraints = {
        "total_count": constraints.nonnegative,
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    mean = property(lambda self: self.total_count * self.logits.exp())
    mode = property(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0))
    variance = property(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of NegativeBinomial."""
        with gn.no_grad():
            return poisson(Gamma(self.total_count, (-self.logits).exp()).sample(sample_shape))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of NegativeBinomial's density at a checked value."""
        n = self.total_count
        shares = n * F.logsigmoid(-self.logits) + value * F.logsigmoid(self.logits)
        ways = (n + value).lgamma() - (value + 1).lgamma() - n.lgamma()
        return shares + ways.masked_fill(n + value == 0, 0.0)


class Poisson(Family, ExponentialFamily):
    """Events in a time, when they come at a rate.

    >>> Poisson(2.0).log_prob(gn.tensor(0.0))
    Tensor(-2.)
    """

    support = constraints.nonnegative_integer
    arg_constraints = {"rate": constraints.nonnegative}
    mean = variance = property(lambda self: self.rate)
    mode = property(lambda self: self.rate.floor())
    _natural_params = property(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of Poisson's normalizer, by natural parameters."""
        return x.exp()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Poisson."""
        with gn.no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Poisson's density at a checked value."""
        return xlogy(value, self.rate) - self.rate - (value + 1).lgamma()


class Multinomial(ByCategorical):
    """The numbers of times that several choices were made in total_count tries."""

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("Multinomial: one total_count, a number, for all of a batch.")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        """The constraint that samples of Multinomial satisfy."""
        return constraints.multinomial(self.total_count)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Multinomial."""
        with gn.no_grad():
            chosen = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
            nothing = gn.zeros(tuple(self._extended_shape(sample_shape)), dtype=self.probs.dtype)
            return nothing.scatter_add(-1, chosen, gn.ones(chosen.shape, dtype=nothing.dtype))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Multinomial's density at a checked value."""
        logits, value = gn.broadcast_tensors(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0.0)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        """The entropy of Multinomial, in nats."""
        n = self.total_count
        each = Binomial(n, self.probs)
        values = each.enumerate_support(False)[1:]
        spread = (each.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - math.lgamma(n + 1) + spread
