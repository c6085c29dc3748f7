"""kl_divergence: the mean under p of log p − log q, by a formula for each pair of families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gnomon as gn
from gnomon.distributions.composed import Independent, TransformedDistribution
from gnomon.distributions.continuous import Cauchy, Gumbel, Laplace, Normal, Uniform
from gnomon.distributions.counts import Binomial
from gnomon.distributions.discrete import (
    Bernoulli,
    Categorical,
    Geometric,
    OneHotCategorical,
)
from gnomon.distributions.distribution import Distribution, ExponentialFamily, expected
from gnomon.distributions.gamma import Gamma
from gnomon.distributions.multivariate import (
    MultivariateNormal,
    log_diagonal,
    solved,
    squared_length,
)
from gnomon.distributions.parameters import EULER, added
from gnomon.distributions.transformed import HalfNormal, Pareto
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.tensor.tensor import Tensor

DISTANCES: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
"""The formulas of kl_divergence, by kind."""


def register_kl(kind_p: type, kind_q: type) -> Callable:
    """A decorator: this function is kl_divergence of two kinds of distributions."""

    def declare(function: Callable) -> Callable:
        DISTANCES[kind_p, kind_q] = function
        return function

    return declare


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p − log q.

    >>> from gnomon.distributions.continuous import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    Tensor(0.5)
    """
    for mine in type(p).__mro__:
        for other in type(q).__mro__:
            if (mine, other) in DISTANCES:
                return DISTANCES[mine, other](p, q)
    raise NotImplementedError(
        f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}. "
        "Give one with register_kl."
    )


@register_kl(Independent, Independent)
def _(p: Independent, q: Independent) -> Tensor:
    """The KL divergence between two Independent distributions."""
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise ArgumentError("kl_divergence: the events of both have different axes.")
    return added(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    """The KL divergence between two TransformedDistribution distributions."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("kl_divergence: the transforms of both differ.")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(ExponentialFamily, ExponentialFamily)
def _(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The KL divergence between two ExponentialFamily distributions."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"kl_divergence: no formula for {type(p).__name__} and {type(q).__name__}. "
            "Give one with register_kl."
        )
    normalizer, _, means = expected(p)
    other = q._natural_params
    result = q._log_normalizer(*other) - normalizer
    for mine, theirs, mean in zip(p._natural_params, other, means, strict=True):
        result = result - added((theirs - mine) * mean, len(q.event_shape))
    return result


@register_kl(Bernoulli, Bernoulli)
def _(p: Bernoulli, q: Bernoulli) -> Tensor:
    """The KL divergence between two Bernoulli distributions."""
    yes = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    yes = yes.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0)
    no = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    return yes + no.masked_fill(q.probs == 1, math.inf).masked_fill(p.probs == 1, 0.0)


@register_kl(Binomial, Binomial)
def _(p: Binomial, q: Binomial) -> Tensor:
    """The KL divergence between two Binomial distributions."""
    n = p.total_count
    each = n * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return each.masked_fill(n > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _(p: Categorical, q: Categorical) -> Tensor:
    """The KL divergence between two Categorical distributions."""
    terms = p.probs * (p.logits - q.logits)
    return terms.masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0.0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    """The KL divergence between two OneHotCategorical distributions."""
    return kl_divergence(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _(p: Cauchy, q: Cauchy) -> Tensor:
    """The KL divergence between two Cauchy distributions."""
    above = (p.scale + q.scale) ** 2 + (p.loc - q.loc) ** 2
    return (above / (4 * p.scale * q.scale)).log()


@register_kl(Gamma, Gamma)
def _(p: Gamma, q: Gamma) -> Tensor:
    """The KL divergence between two Gamma distributions."""
    a, b = p.concentration, q.concentration
    constants = b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma()
    return constants + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Gumbel, Gumbel)
def _(p: Gumbel, q: Gumbel) -> Tensor:
    """The KL divergence between two Gumbel distributions."""
    ratio = p.scale / q.scale
    away = (p.loc - q.loc) / q.scale
    moment = (-away + (1 + ratio).lgamma()).exp()
    return -ratio.log() + away + ratio * EULER + moment - (1 + EULER)


@register_kl(Geometric, Geometric)
def _(p: Geometric, q: Geometric) -> Tensor:
    """The KL divergence between two Geometric distributions."""
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _(p: HalfNormal, q: HalfNormal) -> Tensor:
    """The KL divergence between two HalfNormal distributions."""
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _(p: Laplace, q: Laplace) -> Tensor:
    """The KL divergence between two Laplace distributions."""
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _(p: Normal, q: Normal) -> Tensor:
    """The KL divergence between two Normal distributions."""
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _(p: Pareto, q: Pareto) -> Tensor:
    """The KL divergence between two Pareto distributions."""
    ratio, steps = q.alpha / p.alpha, (p.scale / q.scale).log()
    found = q.alpha * steps - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Uniform, Uniform)
def _(p: Uniform, q: Uniform) -> Tensor:
    """Infinite where p reaches further than q."""
    distance = ((q.high - q.low) / (p.high - p.low)).log()
    return distance.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


def of_normals(p: Any, q: MultivariateNormal, half_log_determinant: Tensor) -> Tensor:
    """The divergence of normal vectors, given half the log-determinant of p's matrix."""
    low = gn.broadcast_tensors(q.scale_tril, p.scale_tril)
    away = (solved(*low) ** 2).sum((-2, -1)) + squared_length(q.scale_tril, q.loc - p.loc)
    return log_diagonal(q.scale_tril) - half_log_determinant + 0.5 * (away - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    """The KL divergence between two MultivariateNormal distributions."""
    return of_normals(p, q, log_diagonal(p.scale_tril))
