"""Draws by rejection as functions of tensors: gamma, Poisson and binomial numbers."""

from __future__ import annotations

from gnomon.tensor.random import Generator, draw
from gnomon.tensor.standard import broadcast_shapes
from gnomon.tensor.tensor import Tensor


def standard_gamma(input: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Random numbers from gamma distributions of rate 1; gradients flow to the concentration."""
    return draw("random_gamma", (input,), generator)


def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of events that come at each element's rate.

    >>> poisson(Tensor([0.0, 0.0]))
    Tensor([0., 0.])
    """
    return draw("random_poisson", (input,), generator)


def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Random numbers of successes in `count` trials of chance `prob`."""
    shape = broadcast_shapes(tuple(count.shape), tuple(prob.shape))
    return draw("random_binomial", (count.expand(shape), prob.expand(shape)), generator)
