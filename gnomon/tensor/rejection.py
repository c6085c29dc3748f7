"""Draws by rejection as functions of tensors: gamma, Poisson and binomial numbers."""

from __future__ import annotations

from gnomon.tensor.random import Generator, draw
from gnomon.tensor.standard import broadcast_shapes
from gnomon.tensor.tensor import Tensor


def standard_gamma(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Numbers of the gamma distribution with a concentration and rate 1; gradients flow to it."""
    return draw("random_gamma", (input,), generator)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of events that come at each element's rate.

    >>> poisson(Tensor([0.0, 0.0]))
    Tensor([0., 0.])
    """
    return draw("random_poisson", (input,), generator)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Successes among each element's count of tries, which succeed with a chance."""
    shape = broadcast_shapes(tuple(count.shape), tuple(prob.shape))
    return draw("random_binomial", (count.expand(shape), prob.expand(shape)), generator)
