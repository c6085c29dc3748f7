"""Distributions by torch.distributions' names: samples, log_prob, entropy, kl_divergence."""

from __future__ import annotations

from gnomon.distributions import continuous, discrete
from gnomon.distributions.continuous import (
    Exponential,
    Gumbel,
    Laplace,
    LogNormal,
    Normal,
    Uniform,
)
from gnomon.distributions.discrete import Bernoulli, Categorical, OneHotCategorical
from gnomon.distributions.distribution import (
    Distribution,
    Independent,
    kl_divergence,
    register_kl,
)

__all__ = [
    "Bernoulli",
    "Categorical",
    "Distribution",
    "Exponential",
    "Gumbel",
    "Independent",
    "Laplace",
    "LogNormal",
    "Normal",
    "OneHotCategorical",
    "Uniform",
    "kl_divergence",
    "register_kl",
]
