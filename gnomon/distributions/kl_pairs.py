"""Formulas of kl_divergence for two different families.

Each is minus the entropy of p, minus the mean under p of log q.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gnomon as gn
from gnomon.distributions.continuous import Exponential, Gumbel, Laplace, Normal, Uniform
from gnomon.distributions.counts import Binomial, Poisson
from gnomon.distributions.discrete import Bernoulli
from gnomon.distributions.gamma import Beta, Gamma
from gnomon.distributions.kl import register_kl
from gnomon.distributions.parameters import EULER, HALF_LOG_TAU
from gnomon.distributions.transformed import Pareto
from gnomon.distributions.unit_interval import ContinuousBernoulli
from gnomon.tensor.tensor import Tensor


def without_end(p: Any, q: Any) -> Tensor:
    """Infinite everywhere: p reaches where q has no density."""
    both = gn.broadcast_shapes(tuple(p.batch_shape), tuple(q.batch_shape))
    return gn.full(both, math.inf, dtype=p.mean.dtype)


UNIT, ABOVE_ZERO = (Beta, ContinuousBernoulli), (Exponential, Gamma)
for _p, _qs in (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, (*UNIT, Pareto, Uniform)),
    (Gamma, (*UNIT, Pareto, Uniform)),
    (Gumbel, (*UNIT, *ABOVE_ZERO, Pareto, Uniform)),
    (Laplace, (*UNIT, *ABOVE_ZERO, Pareto, Uniform)),
    (Normal, (*UNIT, *ABOVE_ZERO, Pareto, Uniform)),
    (Pareto, (*UNIT, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _q in _qs:
        register_kl(_p, _q)(without_end)


def beyond(found: Tensor, outside: Tensor) -> Tensor:
    """A distance, infinite where p reaches outside of where q has its density."""
    return found.masked_fill(outside, math.inf)


def mean_log(p: Any) -> Tensor:
    """The mean of log(x)."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - p.total.digamma()
    if isinstance(p, Gamma):
        return p.concentration.digamma() - p.rate.log()
    if isinstance(p, Exponential):
        return -p.rate.log() - EULER
    if isinstance(p, Pareto):
        return p.scale.log() + 1 / p.alpha
    return log_area(p.high, p.high - p.low) - log_area(p.low, p.high - p.low) - 1


def log_area(x: Tensor, width: Tensor) -> Tensor:
    """x · log(x) / width, and 0 at 0."""
    return x * x.masked_fill(x == 0, 1.0).log() / width


def under_normal(p: Any, q: Normal) -> Tensor:
    """The mean of log q for a normal q, by two moments."""
    away = p.variance + (p.mean - q.loc) ** 2
    return -0.5 * away / q.scale**2 - q.scale.log() - HALF_LOG_TAU


def under_gamma(p: Any, q: Gamma) -> Tensor:
    """The mean of log q for a gamma q."""
    c = q.concentration
    return c * q.rate.log() - c.lgamma() + (c - 1) * mean_log(p) - q.rate * p.mean


def under_exponential(p: Any, q: Exponential) -> Tensor:
    """The mean of log q for an exponential q."""
    return q.rate.log() - q.rate * p.mean


def under_gumbel(p: Any, q: Gumbel) -> Tensor:
    """The mean of log q for a Gumbel q, by the mean of exp(−x / scale)."""
    moment = log_moment(p, -1 / q.scale) + q.loc / q.scale
    return (q.loc - p.mean) / q.scale - moment.exp() - q.scale.log()


def log_moment(p: Any, t: Tensor) -> Tensor:
    """The logarithm of the mean of exp(t · x)."""
    if isinstance(p, Normal):
        return t * p.loc + 0.5 * (t * p.scale) ** 2
    if isinstance(p, Gamma):
        return -p.concentration * (-t / p.rate).log1p()
    if isinstance(p, Exponential):
        return -(-t / p.rate).log1p()
    return (((t * p.high).exp() - (t * p.low).exp()) / (t * (p.high - p.low))).log()


def under_continuous(p: Any, q: ContinuousBernoulli) -> Tensor:
    """The mean of log q for a continuous Bernoulli q."""
    return p.mean * q.logits + (-q.probs).log1p() + q.log_constant()


def by_means(of_log: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """The distance, given the mean of log q."""
    return lambda p, q: -p.entropy() - of_log(p, q)


for _of_log, _family, _ps in (
    (under_normal, Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace)),
    (under_normal, Normal, (Pareto, Uniform)),
    (under_gamma, Gamma, (Beta, Exponential)),
    (under_exponential, Exponential, (Beta, ContinuousBernoulli, Gamma)),
    (under_gumbel, Gumbel, (Exponential, Gamma, Normal, Uniform)),
    (under_continuous, ContinuousBernoulli, (Beta,)),
):
    for _p in _ps:
        register_kl(_p, _family)(by_means(_of_log))


@register_kl(Pareto, Exponential)
@register_kl(Pareto, Gamma)
@register_kl(Pareto, Normal)
def _(p: Pareto, q: Any) -> Tensor:
    """Infinite where p has no mean, or, for a normal q, no variance."""
    of_log = {Exponential: under_exponential, Gamma: under_gamma, Normal: under_normal}
    kind = next(kind for kind in of_log if isinstance(q, kind))
    lowest = 2 if kind is Normal else 1
    return beyond(by_means(of_log[kind])(p, q), p.alpha <= lowest)


@register_kl(Uniform, Exponential)
@register_kl(Uniform, Gamma)
def _(p: Uniform, q: Any) -> Tensor:
    """The KL divergence of Uniform from Exponential or Gamma."""
    of_log = under_gamma if isinstance(q, Gamma) else under_exponential
    return beyond(by_means(of_log)(p, q), p.low < 0)


@register_kl(Uniform, Beta)
def _(p: Uniform, q: Beta) -> Tensor:
    """The KL divergence of Uniform from Beta."""
    away = Uniform(1 - p.high, 1 - p.low)
    a, b = q.concentration1, q.concentration0
    log_q = (a - 1) * mean_log(p) + (b - 1) * mean_log(away)
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return beyond(-p.entropy() - log_q + normalizer, (p.low < 0) | (p.high > 1))


@register_kl(Uniform, ContinuousBernoulli)
def _(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    """The KL divergence of Uniform from ContinuousBernoulli."""
    found = by_means(under_continuous)(p, q)
    return beyond(found, (p.low < 0) | (p.high > 1))


@register_kl(Uniform, Pareto)
def _(p: Uniform, q: Pareto) -> Tensor:
    """The KL divergence of Uniform from Pareto."""
    log_q = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * mean_log(p)
    return beyond(-p.entropy() - log_q, p.low < q.scale)


@register_kl(Beta, Uniform)
@register_kl(ContinuousBernoulli, Uniform)
def _(p: Any, q: Uniform) -> Tensor:
    """The KL divergence of Beta or ContinuousBernoulli from Uniform."""
    return beyond(-p.entropy() + (q.high - q.low).log(), (q.low > 0) | (q.high < 1))


@register_kl(Normal, Laplace)
def _(p: Normal, q: Laplace) -> Tensor:
    """The mean of |x − loc| is that of a folded normal number."""
    away = (p.loc - q.loc) / p.scale
    folded = math.sqrt(2 / math.pi) * (-0.5 * away**2).exp() + away * (away / math.sqrt(2)).erf()
    return -p.entropy() + (2 * q.scale).log() + p.scale * folded / q.scale


@register_kl(Bernoulli, Poisson)
def _(p: Bernoulli, q: Poisson) -> Tensor:
    """The KL divergence of Bernoulli from Poisson."""
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
