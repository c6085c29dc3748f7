"""Transforms of parts that lie beside each other, and by a distribution's cdf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.constraints import Constraint
from gnomon.distributions.parameters import added
from gnomon.distributions.transform import Transform
from gnomon.tensor.tensor import Tensor


class CatTransform(Transform):
    """Transforms of parts that lie behind each other along an axis."""

    said = ("transforms", "dim")

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.bijective = all(t.bijective for t in self.transforms)

    @property
    def event_dim(self) -> int:
        """The number of event axes of CatTransform."""
        return max(t.event_dim for t in self.transforms)

    @property
    def domain(self) -> Constraint:
        """The constraint on arguments of CatTransform."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Constraint:
        """The constraint on values of CatTransform."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def parted(self, x: Tensor) -> Sequence[Tensor]:
        """The part of each transform."""
        return x.split(self.lengths, self.dim)

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """The parts as one."""
        return gn.cat(parts, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        """The value of CatTransform at x."""
        return self.joined([t(v) for t, v in zip(self.transforms, self.parted(x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of CatTransform at y."""
        pairs = zip(self.transforms, self.parted(y), strict=True)
        return self.joined([t.inv(v) for t, v in pairs])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of CatTransform at x, with value y."""
        triples = zip(self.transforms, self.parted(x), self.parted(y), strict=True)
        made = [(t, t.log_abs_det_jacobian(v, w)) for t, v, w in triples]
        made = [added(each, self.event_dim - t.event_dim) for t, each in made]
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        if dim + self.event_dim < 0:
            return gn.cat(made, dim + self.event_dim)
        return sum(made[1:], made[0])


class StackTransform(CatTransform):
    """Transforms of parts that are stacked along an axis."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size=cache_size)

    @property
    def domain(self) -> Constraint:
        """The constraint on arguments of StackTransform."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Constraint:
        """The constraint on values of StackTransform."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def parted(self, x: Tensor) -> Sequence[Tensor]:
        """The parts of x along the stacked axis."""
        return x.unbind(self.dim)

    def joined(self, parts: Sequence[Tensor]) -> Tensor:
        """The parts, stacked along the axis."""
        return gn.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of StackTransform at x, with value y."""
        triples = zip(self.transforms, self.parted(x), self.parted(y), strict=True)
        return gn.stack([t.log_abs_det_jacobian(v, w) for t, v, w in triples], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = distribution.cdf(x)."""

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    said = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Constraint | None:
        """The constraint on arguments of CumulativeDistributionTransform."""
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        """The value of CumulativeDistributionTransform at x."""
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of CumulativeDistributionTransform at y."""
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of CumulativeDistributionTransform at x, with value y."""
        return self.distribution.log_prob(x)
