"""What every distribution answers, and distances between two: torch.distributions' names.

Parameters are not checked: a look at their values would compute them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.creation import tensor
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.standard import broadcast_shapes
from gnomon.tensor.tensor import Size, Tensor

Shape = Sequence[int]


class Distribution:
    """Base: parameters of shape batch_shape, each for events of shape event_shape."""

    has_rsample = False
    """Whether gradients flow through samples."""

    def __init__(self, batch_shape: Shape, event_shape: Shape = ()) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one event."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no rsample(). Use sample().")

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples, as values."""
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the chance, of values."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """exp(entropy)."""
        return self.entropy().exp()

    def extended(self, sample_shape: Shape) -> Size:
        """The shape of samples."""
        return Size((*sample_shape, *self.batch_shape, *self.event_shape))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(batch {list(self.batch_shape)}, event {list(self.event_shape)})"
        )


def together(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape."""
    like = next((v for v in values if isinstance(v, Tensor)), None)
    dtype = None if like is None else like.dtype
    made = [v if isinstance(v, Tensor) else tensor(float(v), dtype) for v in values]
    shape = broadcast_shapes(*(tuple(v.shape) for v in made))
    return [v if tuple(v.shape) == shape else v.expand(shape) for v in made]


class Independent(Distribution):
    """A distribution some of whose batch axes belong to the event: their log_probs add up."""

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        self.base_dist, self.count = base_distribution, reinterpreted_batch_ndims
        shape = base_distribution.batch_shape
        cut = len(shape) - self.count
        if cut < 0:
            raise ArgumentError(f"Independent: {self.count} axes of a batch of {list(shape)}.")
        super().__init__(shape[:cut], (*shape[cut:], *base_distribution.event_shape))
        self.has_rsample = base_distribution.has_rsample

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples through which gradients flow to the parameters."""
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples, as values."""
        return self.base_dist.sample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density of events."""
        return self.added(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        """The entropy of events."""
        return self.added(self.base_dist.entropy())

    def added(self, x: Tensor) -> Tensor:
        """The sum over the axes that belong to the event."""
        return x.sum(tuple(range(-self.count, 0))) if self.count else x


DISTANCES: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {}
"""The formulas of kl_divergence, by kind."""


def register_kl(kind_p: type, kind_q: type) -> Callable:
    """A decorator: this function is kl_divergence of two kinds of distributions."""

    def declare(function: Callable) -> Callable:
        DISTANCES[kind_p, kind_q] = function
        return function

    return declare


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of log p − log q."""
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
    if p.count != q.count:
        raise ArgumentError("kl_divergence: the events of both have different axes.")
    return p.added(kl_divergence(p.base_dist, q.base_dist))


def replaced(x: Tensor, where: Tensor, value: float) -> Tensor:
    """x with a value where something holds."""
    return FUNCTIONS["masked_fill"](x, where, value)
