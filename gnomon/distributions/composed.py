"""Distributions made of others: axes taken together, transforms, mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import Distribution, Family, Shape
from gnomon.distributions.parameters import added, lazy_property
from gnomon.distributions.transform import ComposeTransform, Transform
from gnomon.errors import ArgumentError, ShapeError
from gnomon.tensor.size import Size
from gnomon.tensor.tensor import Tensor


class Independent(Distribution):
    """A distribution some of whose batch axes belong to the event: their log_probs add up."""

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(
        lambda self: self.base_dist.has_enumerate_support and not self.reinterpreted_batch_ndims
    )
    mean = property(lambda self: self.base_dist.mean)
    mode = property(lambda self: self.base_dist.mode)
    variance = property(lambda self: self.base_dist.variance)

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        shape = base_distribution.batch_shape
        cut = len(shape) - reinterpreted_batch_ndims
        if cut < 0:
            raise ArgumentError(
                f"Independent: {reinterpreted_batch_ndims} axes of a batch of {list(shape)}."
            )
        super().__init__(shape[:cut], (*shape[cut:], *base_distribution.event_shape), validate_args)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist!r}, {self.reinterpreted_batch_ndims})"

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that samples of Independent satisfy."""
        found, count = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(found, count) if count else found

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Independent:
        """Independent with parameters expanded to a batch shape."""
        inner = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *inner))
        return Independent(base, self.reinterpreted_batch_ndims, self._validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of Independent."""
        return self.base_dist.rsample(sample_shape)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of Independent."""
        return self.base_dist.sample(sample_shape)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of Independent's density at a checked value."""
        return added(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The entropy of Independent, in nats."""
        return added(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of Independent, along a new first axis."""
        if self.reinterpreted_batch_ndims:
            raise NotImplementedError("Independent: the values of joined axes are too many.")
        return self.base_dist.enumerate_support(expand)


class TransformedDistribution(Distribution):
    """Transforms, one after another, of what a distribution gives.

    >>> from gnomon.distributions.continuous import Normal
    >>> from gnomon.distributions.elementwise_transforms import TanhTransform
    >>> TransformedDistribution(Normal(0.0, 1.0), TanhTransform()).log_prob(gn.tensor(0.0))
    Tensor(-0.9189)
    """

    base_dist: Any
    transforms: list[Transform]

    def __init__(
        self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None
    ) -> None:
        listed = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(listed, Sequence) or not all(isinstance(t, Transform) for t in listed):
            raise ArgumentError(f"TransformedDistribution: needs Transforms: got {transforms!r}.")
        whole = ComposeTransform(listed)
        base, shape, event = fitted(base_distribution, whole)
        cut = len(shape) - event
        self.base_dist, self.transforms = base, list(listed)
        super().__init__(shape[:cut], shape[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether samples of TransformedDistribution are differentiable."""
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that samples of TransformedDistribution satisfy."""
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        missing = len(self.event_shape) - found.event_dim
        return constraints.independent(found, missing) if missing > 0 else found

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """TransformedDistribution with parameters expanded to a batch shape."""
        shape = ComposeTransform(self.transforms).inverse_shape((*batch_shape, *self.event_shape))
        cut = len(shape) - len(self.base_dist.event_shape)
        base = self.base_dist.expand(shape[:cut])
        made = self._get_checked_instance(TransformedDistribution, _instance)
        TransformedDistribution.__init__(made, base, self.transforms, self._validate_args)
        return made

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of TransformedDistribution."""
        with gn.no_grad():
            return self.forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Differentiable samples of TransformedDistribution."""
        return self.forward(self.base_dist.rsample(sample_shape))

    def forward(self, x: Tensor) -> Tensor:
        """The transforms of a value of the base."""
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of TransformedDistribution's density at a checked value."""
        event_dim, y = len(self.event_shape), value
        total: Any = 0.0
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            each = transform.log_abs_det_jacobian(x, y)
            total, y = total - added(each, event_dim - transform.domain.event_dim), x
        inner = event_dim - len(self.base_dist.event_shape)
        return total + added(self.base_dist.log_prob(y), inner)

    def rising(self, share: Tensor) -> Tensor:
        """A share of the base as one here: what falls takes it from the other end."""
        sign = math.prod(t.sign for t in self.transforms)
        return share if isinstance(sign, int) and sign == 1 else sign * (share - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function of TransformedDistribution."""
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self.rising(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        """The quantiles of TransformedDistribution, by cumulative probability."""
        return self.forward(self.base_dist.icdf(self.rising(value)))


def fitted(base: Distribution, whole: ComposeTransform) -> tuple[Distribution, Shape, int]:
    """A base of the shape that transforms take, the shape that they make, and the event's axes."""
    shape = (*base.batch_shape, *base.event_shape)
    if len(shape) < whole.domain.event_dim:
        raise ShapeError(
            f"TransformedDistribution: its transforms take {whole.domain.event_dim} axes: a base "
            f"of {list(shape)} has too few. Expand it."
        )
    made = whole.forward_shape(shape)
    taken, inner = whole.inverse_shape(made), len(base.event_shape)
    event = whole.codomain.event_dim + max(inner - whole.domain.event_dim, 0)
    if tuple(taken) != shape:
        base = base.expand(taken[: len(taken) - inner])
    joined = whole.domain.event_dim - inner
    return (Independent(base, joined) if joined > 0 else base), made, event


class TransformedFamily(Family, TransformedDistribution):
    """Base of families with parameters of their own: `law` makes base and transforms of them."""

    has_rsample = True

    def law(self) -> tuple[Distribution, list[Transform]]:
        """The base and the transforms, by the parameters."""
        raise NotImplementedError

    @lazy_property
    def made(self) -> TransformedDistribution:
        """The equivalent TransformedDistribution."""
        return TransformedDistribution(*self.law())

    base_dist = property(lambda self: self.made.base_dist)
    transforms = property(lambda self: self.made.transforms)
    expand = Distribution.expand
    rsample = TransformedDistribution.rsample


class MixtureSameFamily(Distribution):
    """One of several components of a family, chosen for each sample."""

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        batch, events = component_distribution.batch_shape, component_distribution.event_shape
        count = mixture_distribution.param_shape[-1]
        if not batch or batch[-1] != count:
            raise ShapeError(
                f"MixtureSameFamily: the components are the last axis of their batch: {count} of "
                f"them, and a batch of {list(batch)}."
            )
        shape = gn.broadcast_shapes(tuple(mixture_distribution.batch_shape), tuple(batch[:-1]))
        self._num_component, self._event_ndims = count, len(events)
        super().__init__(shape, events, validate_args)

    mixture_distribution = property(lambda self: self._mixture_distribution)
    component_distribution = property(lambda self: self._component_distribution)
    has_rsample = False

    def __repr__(self) -> str:
        parts = self._mixture_distribution, self._component_distribution
        return "MixtureSameFamily(\n  " + ",\n  ".join(map(repr, parts)) + ")"

    @constraints.dependent_property
    def support(self) -> Any:
        """The constraint that samples of MixtureSameFamily satisfy."""
        return constraints.MixtureSameFamilyConstraint(self.component_distribution.support)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        """MixtureSameFamily with parameters expanded to a batch shape."""
        made = self._get_checked_instance(MixtureSameFamily, _instance)
        component = self.component_distribution.expand((*batch_shape, self._num_component))
        mixture = self.mixture_distribution.expand(batch_shape)
        MixtureSameFamily.__init__(made, mixture, component, self._validate_args)
        return made

    def weighted(self, x: Tensor) -> Tensor:
        """The mean over components of what each has."""
        probs = self.mixture_distribution.probs
        probs = probs.reshape((*probs.shape, *(1,) * self._event_ndims))
        return (probs * x).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The mean of MixtureSameFamily."""
        return self.weighted(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The variance of MixtureSameFamily."""
        means = self.component_distribution.mean
        away = (means - self.mean.unsqueeze(-1 - self._event_ndims)) ** 2
        return self.weighted(self.component_distribution.variance) + self.weighted(away)

    def cdf(self, x: Tensor) -> Tensor:
        """The cumulative distribution function of MixtureSameFamily."""
        parts = self.component_distribution.cdf(x.unsqueeze(-1 - self._event_ndims))
        return (parts * self.mixture_distribution.probs).sum(-1)

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of MixtureSameFamily's density at a checked value."""
        parts = self.component_distribution.log_prob(value.unsqueeze(-1 - self._event_ndims))
        return (parts + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of MixtureSameFamily."""
        with gn.no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            parts = self.component_distribution.sample(sample_shape)
            chosen = chosen.reshape((*chosen.shape, 1, *(1,) * self._event_ndims))
            axis = -1 - self._event_ndims
            shape = [*Size(sample_shape), *self.batch_shape, 1, *self.event_shape]
            return parts.gather(axis, chosen.expand(shape)).squeeze(axis)
