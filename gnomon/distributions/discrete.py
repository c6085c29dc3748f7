"""Distributions of choices and of yes or no, by chances or by their logits."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

from gnomon.distributions.distribution import (
    Distribution,
    Shape,
    register_kl,
    replaced,
    together,
)
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.creation import arange
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.limits import finfo
from gnomon.tensor.random import bernoulli, multinomial
from gnomon.tensor.tensor import Tensor


def one_of(name: str, probs: Any, logits: Any) -> None:
    """Refuse both, or neither, of chances and logits."""
    if (probs is None) == (logits is None):
        raise ArgumentError(f"{name}: needs either probs or logits.")


def inside(probs: Tensor) -> Tensor:
    """Chances, none of them quite 0 or 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


class Bernoulli(Distribution):
    """1 with a chance, else 0."""

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        one_of("Bernoulli", probs, logits)
        if probs is None:
            (self.logits,) = together(logits)
        else:
            (self.probs,) = together(probs)
        super().__init__((self.logits if probs is None else self.probs).shape)

    @cached_property
    def probs(self) -> Tensor:
        """The chance of 1."""
        return self.logits.sigmoid()

    @cached_property
    def logits(self) -> Tensor:
        """log of the chance of 1 over that of 0."""
        chance = inside(self.probs)
        return chance.log() - (-chance).log1p()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples."""
        with no_grad():
            return bernoulli(self.probs.expand(self.extended(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the chance."""
        logits, value = FUNCTIONS["broadcast_tensors"](self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        """The entropy."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(Distribution):
    """One of 0 … n − 1, by chances along the last axis."""

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        one_of(type(self).__name__, probs, logits)
        if probs is None:
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)
        self._param = self.logits if probs is None else self.probs
        super().__init__(self._param.shape[:-1])

    @cached_property
    def probs(self) -> Tensor:
        """The chances."""
        return self.logits.softmax(-1)

    @cached_property
    def logits(self) -> Tensor:
        """The logarithms of the chances."""
        return inside(self.probs).log()

    @property
    def param_shape(self) -> Shape:
        """The shape of the chances."""
        return self._param.shape

    @property
    def mode(self) -> Tensor:
        """The likeliest."""
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples."""
        with no_grad():
            rows = self.probs.reshape(-1, self.probs.shape[-1])
            count = math.prod(sample_shape)
            return multinomial(rows, count, True).T.reshape(*sample_shape, *self.batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the chance."""
        index = value.long().unsqueeze(-1)
        index, logits = FUNCTIONS["broadcast_tensors"](index, self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        """The entropy."""
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values along a new first axis."""
        values = arange(self.param_shape[-1]).reshape(-1, *(1,) * len(self.batch_shape))
        return values.expand(-1, *self.batch_shape) if expand else values


class OneHotCategorical(Categorical):
    """A choice as 1 at its place and 0 elsewhere."""

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(probs, logits)
        self.chosen = Categorical(probs, logits)
        Distribution.__init__(self, self._param.shape[:-1], self._param.shape[-1:])

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.probs

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples."""
        found = self.chosen.sample(sample_shape)
        return FUNCTIONS["one_hot"](found, self.param_shape[-1]).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the chance."""
        return self.chosen.log_prob(value.argmax(dim=-1))


@register_kl(Bernoulli, Bernoulli)
def answers(p: Bernoulli, q: Bernoulli) -> Tensor:
    """Of two chances of yes."""
    yes = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    yes = replaced(replaced(yes, q.probs == 0, math.inf), p.probs == 0, 0.0)
    no = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    return yes + replaced(replaced(no, q.probs == 1, math.inf), p.probs == 1, 0.0)


@register_kl(Categorical, Categorical)
def choices(p: Categorical, q: Categorical) -> Tensor:
    """Of two distributions of choices."""
    terms = p.probs * (p.logits - q.logits)
    return replaced(replaced(terms, q.probs == 0, math.inf), p.probs == 0, 0.0).sum(-1)
