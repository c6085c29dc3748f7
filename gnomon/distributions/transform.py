"""Transform, the base of differentiable functions with inverses, and those made of others."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.constraints import Constraint
from gnomon.distributions.parameters import added
from gnomon.errors import ArgumentError, ShapeError
from gnomon.tensor.size import Size
from gnomon.tensor.tensor import Tensor

Shape = Sequence[int]


class Transform:
    """Base: y = transform(x) and x = transform.inv(y); cache_size 1 keeps the last pair."""

    domain: Any
    codomain: Any
    bijective = False
    said: tuple[str, ...] | None = None
    """The parameters by which two of a class are equal; none are where it is None."""

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ArgumentError(f"{type(self).__name__}: cache_size is 0 or 1: got {cache_size}.")
        self._cache_size, self._pair = cache_size, (None, None)

    @property
    def event_dim(self) -> int:
        """The number of event axes, which arguments and values share."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentError("event_dim: values before and after have other numbers of axes.")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        """The inverse."""
        return InverseTransform(self)

    @property
    def sign(self) -> Any:
        """1 where it rises, −1 where it falls."""
        raise NotImplementedError(f"{type(self).__name__} neither rises nor falls everywhere.")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """A copy of this transform with another cache size."""
        made = copy.copy(self)
        Transform.__init__(made, cache_size)
        return made

    def __call__(self, x: Tensor) -> Tensor:
        """The value of the transform at x, cached on request."""
        if self._cache_size and x is self._pair[0]:
            return self._pair[1]
        y = self._call(x)
        self._keep(x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        """The inverse of the transform at y, cached on request."""
        if self._cache_size and y is self._pair[1]:
            return self._pair[0]
        x = self._inverse(y)
        self._keep(x, y)
        return x

    def _keep(self, x: Any, y: Any) -> None:
        """Cache a pair of an argument and its value."""
        if self._cache_size:
            self._pair = (x, y)

    def _call(self, x: Tensor) -> Tensor:
        """The value of the transform at x, which subclasses define."""
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of the transform at y, which subclasses define."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy / dx|."""
        raise NotImplementedError

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of what comes of values of a shape."""
        return shape

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of what the inverse makes of values of a shape."""
        return shape

    def __eq__(self, other: object) -> bool:
        """Whether another transform has the same class and equal parameters."""
        if type(other) is not type(self) or self.said is None:
            return self is other
        pairs = [(getattr(self, word), getattr(other, word)) for word in self.said]
        return all(bool(gn.as_tensor(a == b).all()) for a, b in pairs)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        given = ", ".join(f"{word}={getattr(self, word)}" for word in self.said or ())
        return f"{type(self).__name__}({given})"


class InverseTransform(Transform):
    """A transform the other way round."""

    said = ("inv",)

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform
        self.bijective = transform.bijective
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def inv(self) -> Transform:
        """The inverse transform of InverseTransform."""
        return self._inv

    @property
    def sign(self) -> Any:
        """The sign of the derivative of InverseTransform."""
        return self._inv.sign

    def with_cache(self, cache_size: int = 1) -> Transform:
        """InverseTransform with a cache of this size."""
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Tensor) -> Tensor:
        """The value of InverseTransform at x."""
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        """The inverse of InverseTransform at y, cached."""
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of InverseTransform at x, with value y."""
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of InverseTransform, from that of arguments."""
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of arguments of InverseTransform, from that of values."""
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """One transform after another."""

    said = ("parts",)

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [p.with_cache(cache_size) if cache_size else p for p in parts]
        self.bijective = all(p.bijective for p in self.parts)

    @property
    def domain(self) -> Constraint:
        """The constraint on arguments of ComposeTransform."""
        return self.widened(self.parts, "domain", "codomain")

    @property
    def codomain(self) -> Constraint:
        """The constraint on values of ComposeTransform."""
        return self.widened(self.parts[::-1], "codomain", "domain")

    def widened(self, order: Sequence[Transform], first: str, last: str) -> Constraint:
        """The constraint at one end, with the event axes that the other transforms need."""
        if not order:
            return constraints.real
        dim = getattr(order[-1], last).event_dim
        for part in reversed(order):
            dim += getattr(part, first).event_dim - getattr(part, last).event_dim
            dim = max(dim, getattr(part, first).event_dim)
        found = getattr(order[0], first)
        return (
            constraints.independent(found, dim - found.event_dim)
            if dim > found.event_dim
            else found
        )

    @property
    def sign(self) -> Any:
        """The sign of the derivative of ComposeTransform."""
        return math.prod(p.sign for p in self.parts)

    @property
    def inv(self) -> Transform:
        """The inverse transform of ComposeTransform."""
        return ComposeTransform([p.inv for p in reversed(self.parts)], self._cache_size)

    def with_cache(self, cache_size: int = 1) -> Transform:
        """ComposeTransform with a cache of this size."""
        return ComposeTransform(self.parts, cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        """The value of ComposeTransform at x."""
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        """The inverse of ComposeTransform at y, cached."""
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of ComposeTransform at x, with value y."""
        if not self.parts:
            return gn.zeros_like(x)
        terms, dim = [], self.domain.event_dim
        for k, part in enumerate(self.parts):
            to = y if k == len(self.parts) - 1 else part(x)
            terms.append(added(part.log_abs_det_jacobian(x, to), dim - part.domain.event_dim))
            x, dim = to, dim + part.codomain.event_dim - part.domain.event_dim
        return sum(terms[1:], terms[0])

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of ComposeTransform, from that of arguments."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of arguments of ComposeTransform, from that of values."""
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform some of whose batch axes belong to one value."""

    said = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.bijective = base_transform.bijective

    @property
    def domain(self) -> Constraint:
        """The constraint on arguments of IndependentTransform."""
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Constraint:
        """The constraint on values of IndependentTransform."""
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def sign(self) -> Any:
        """The sign of the derivative of IndependentTransform."""
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        """The value of IndependentTransform at x."""
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of IndependentTransform at y."""
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of IndependentTransform at x, with value y."""
        each = self.base_transform.log_abs_det_jacobian(x, y)
        return added(each, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of IndependentTransform, from that of arguments."""
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of arguments of IndependentTransform, from that of values."""
        return self.base_transform.inverse_shape(shape)


class ReshapeTransform(Transform):
    """Values of one shape as values of another."""

    bijective = True
    said = ("in_shape", "out_shape")

    def __init__(self, in_shape: Shape, out_shape: Shape, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ShapeError(
                f"ReshapeTransform: {tuple(in_shape)} and {tuple(out_shape)} hold different "
                "numbers of elements."
            )
        super().__init__(cache_size)

    @property
    def domain(self) -> Constraint:
        """The constraint on arguments of ReshapeTransform."""
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Constraint:
        """The constraint on values of ReshapeTransform."""
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        """The value of ReshapeTransform at x."""
        return x.reshape(self.forward_shape(x.shape))

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of ReshapeTransform at y."""
        return y.reshape(self.inverse_shape(y.shape))

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of ReshapeTransform at x, with value y."""
        return gn.zeros(tuple(x.shape[: x.ndim - len(self.in_shape)]), dtype=x.dtype)

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of ReshapeTransform, from that of arguments."""
        return exchanged(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of arguments of ReshapeTransform, from that of values."""
        return exchanged(shape, self.out_shape, self.in_shape)


def exchanged(shape: Shape, ending: Shape, other: Shape) -> Size:
    """A shape with another ending."""
    cut = len(shape) - len(ending)
    if cut < 0 or tuple(shape[cut:]) != tuple(ending):
        raise ShapeError(f"ReshapeTransform: values end in {tuple(ending)}: got {tuple(shape)}.")
    return Size((*shape[:cut], *other))
