"""Distributions of choices and of yes or no, by chances or by their logits."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import Distribution, ExponentialFamily, Family, Shape
from gnomon.distributions.parameters import (
    LIMITS,
    lazy_property,
    logits_to_probs,
    one_of,
    open_share,
    probs_to_logits,
)
from gnomon.nn import functional as F
from gnomon.tensor.tensor import Tensor


def given_parameter(p: Any) -> Tensor:
    """The chances or the logits by which a distribution was made."""
    mine = vars(p)
    return mine[next(name for name in ("probs", "logits") if name in mine)]


class ByChance(Family):
    """Base: given by a chance or by its logit, and by what else a family has."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    defaults = {"probs": None, "logits": None}

    @lazy_property
    def probs(self) -> Tensor:
        """The chance."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """log of the chance over that of its opposite."""
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the chances."""
        return given_parameter(self).shape

    def listed(self, count: int, expand: bool) -> Tensor:
        """The values 0 … count − 1 along a new first axis."""
        return values_along(count, self.batch_shape, given_parameter(self).dtype, expand)


def values_along(count: int, batch: Shape, dtype: object, expand: bool) -> Tensor:
    """The values 0 … count − 1 along a first axis, for every place of a batch."""
    values = gn.arange(count, dtype=dtype).reshape((-1, *(1,) * len(batch)))
    return values.expand((-1, *batch)) if expand else values


class Bernoulli(ByChance, ExponentialFamily):
    """1 with a chance, else 0.

    >>> Bernoulli(0.25).log_prob(gn.tensor(1.0)).exp()
    Tensor(0.25)
    """

    support = constraints.boolean
    has_enumerate_support = True
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))
    _natural_params = property(lambda self: (self.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        """The logarithm of Bernoulli's normalizer, by natural parameters."""
        return F.softplus(x)

    @property
    def mode(self) -> Tensor:
        """The mode of Bernoulli."""
        likelier = (self.probs >= 0.5).to(self.probs.dtype)
        return likelier.masked_fill(self.probs == 0.5, math.nan)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Bernoulli."""
        with gn.no_grad():
            return gn.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Bernoulli's density at a checked value."""
        logits, value = gn.broadcast_tensors(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """The entropy of Bernoulli, in nats."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of Bernoulli, along a new first axis."""
        return self.listed(2, expand)


class Geometric(ByChance):
    """Failures before the first success."""

    support = constraints.nonnegative_integer
    mean = property(lambda self: 1 / self.probs - 1)
    mode = property(lambda self: gn.zeros_like(self.probs))
    variance = property(lambda self: (1 / self.probs - 1) / self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Geometric."""
        with gn.no_grad():
            share = open_share(self._extended_shape(sample_shape), self.probs.dtype)
            return (share.log() / (-self.probs).log1p()).floor()

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Geometric's density at a checked value."""
        sure = (self.probs == 1) & (value == 0)
        failures = value * (-self.probs.masked_fill(sure, 0.0)).log1p()
        return failures + self.probs.log()

    def entropy(self) -> Tensor:
        """The entropy of Geometric, in nats."""
        each = F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return each / self.probs


class Categorical(Distribution):
    """One of 0 … n − 1, by chances along the last axis.

    >>> Categorical(gn.tensor([0.25, 0.75])).log_prob(gn.tensor(1)).exp()
    Tensor(0.75)
    """

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    mean = variance = property(lambda self: self.probs[..., 0] * math.nan)
    mode = property(lambda self: self.probs.argmax(dim=-1))

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of(type(self).__name__, probs, logits)
        if probs is None:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)
        super().__init__(self.param_shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The chances."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the chances."""
        return probs_to_logits(self.probs)

    @property
    def param_shape(self) -> Any:
        """The shape of the chances."""
        return given_parameter(self).shape

    _num_events = property(lambda self: self.param_shape[-1])

    @constraints.dependent_property(is_discrete=True)
    def support(self) -> Any:
        """The constraint that samples of Categorical satisfy."""
        return constraints.integer_interval(0, self.param_shape[-1] - 1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Categorical."""
        with gn.no_grad():
            count, shape = math.prod(sample_shape), self._extended_shape(sample_shape)
            if not math.prod(shape):
                return gn.zeros(tuple(shape), dtype=gn.int64)
            rows = self.probs.reshape((-1, self.param_shape[-1]))
            drawn = gn.multinomial(rows, count, True)
            return (drawn if 1 in drawn.shape else drawn.T).reshape(tuple(shape))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Categorical's density at a checked value."""
        index = value.long().unsqueeze(-1)
        index, logits = gn.broadcast_tensors(index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """The entropy of Categorical, in nats."""
        logits = self.logits.clamp(min=LIMITS[self.logits.dtype].min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of Categorical, along a new first axis."""
        return values_along(self.param_shape[-1], self.batch_shape, gn.int64, expand)


class ByCategorical(Distribution):
    """Base: vectors made of choices."""

    arg_constraints = Categorical.arg_constraints
    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self.param_shape[:-1], self.param_shape[-1:], validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """ByCategorical with parameters expanded to a batch shape."""
        made = super().expand(batch_shape, _instance)
        made._categorical = self._categorical.expand(batch_shape)
        return made


class OneHotCategorical(ByCategorical):
    """A choice as 1 at its place and 0 elsewhere."""

    has_enumerate_support = True
    support = constraints.one_hot
    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def one_hot(self, index: Tensor) -> Tensor:
        """Choices as vectors."""
        return gn.one_hot(index, self.event_shape[0]).to(self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        """The mode of OneHotCategorical."""
        return self.one_hot(self._categorical.mode)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of OneHotCategorical."""
        return self.one_hot(self._categorical.sample(sample_shape))

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of OneHotCategorical's density at a checked value."""
        return self._categorical.log_prob(value.argmax(dim=-1))

    def entropy(self) -> Tensor:
        """The entropy of OneHotCategorical, in nats."""
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of OneHotCategorical, along a new first axis."""
        return self.one_hot(self._categorical.enumerate_support(expand))


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical with straight-through gradients to the chances (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of OneHotCategoricalStraightThrough."""
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
