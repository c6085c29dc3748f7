"""Transforms of numbers one by one, and of parts."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.constraints import Constraint
from gnomon.distributions.parameters import LIMITS, added
from gnomon.distributions.transform import Shape, Transform
from gnomon.nn import functional as F
from gnomon.tensor.tensor import Tensor


class RealTransform(Transform):
    """Base of those that take real numbers, one by one, and rise."""

    domain = codomain = constraints.real
    bijective = True
    said = ()
    sign = 1


class ExpTransform(RealTransform):
    """y = exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        """The value of ExpTransform at x."""
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of ExpTransform at y."""
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of ExpTransform at x, with value y."""
        return x


class PowerTransform(RealTransform):
    """y = x ** exponent, of positive numbers."""

    domain = codomain = constraints.positive
    said = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = gn.as_tensor(exponent)

    @property
    def sign(self) -> Tensor:
        """The sign of the derivative of PowerTransform."""
        return self.exponent.sign()

    def _call(self, x: Tensor) -> Tensor:
        """The value of PowerTransform at x."""
        return x**self.exponent

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of PowerTransform at y."""
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of PowerTransform at x, with value y."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of PowerTransform, from that of arguments."""
        return gn.broadcast_shapes(tuple(shape), tuple(self.exponent.shape))

    inverse_shape = forward_shape


class SigmoidTransform(RealTransform):
    """y = 1 / (1 + exp(−x))."""

    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        """The value of SigmoidTransform at x."""
        limits = LIMITS[x.dtype]
        return x.sigmoid().clamp(limits.tiny, 1 - limits.eps)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of SigmoidTransform at y."""
        limits = LIMITS[y.dtype]
        y = y.clamp(limits.tiny, 1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of SigmoidTransform at x, with value y."""
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(RealTransform):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        """The value of SoftplusTransform at x."""
        return F.softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of SoftplusTransform at y."""
        return (-(-y).expm1()).log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of SoftplusTransform at x, with value y."""
        return -F.softplus(-x)


class TanhTransform(RealTransform):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        """The value of TanhTransform at x."""
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of TanhTransform at y."""
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of TanhTransform at x, with value y."""
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|: the inverse gives the positive one."""

    domain, codomain = constraints.real, constraints.positive
    said = ()

    def _call(self, x: Tensor) -> Tensor:
        """The value of AbsTransform at x."""
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of AbsTransform at y."""
        return y


class AffineTransform(Transform):
    """y = loc + scale · x."""

    bijective = True
    said = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        """The number of event axes of AffineTransform."""
        return self._event_dim

    @property
    def domain(self) -> Constraint:
        """The constraint on arguments of AffineTransform."""
        real = constraints.real
        return constraints.independent(real, self._event_dim) if self._event_dim else real

    codomain = domain

    @property
    def sign(self) -> Any:
        """The sign of the derivative of AffineTransform."""
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def _call(self, x: Tensor) -> Tensor:
        """The value of AffineTransform at x."""
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of AffineTransform at y."""
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """The logarithm of |det J| of AffineTransform at x, with value y."""
        scale = self.scale if isinstance(self.scale, Tensor) else x.new_tensor(self.scale)
        return added(scale.abs().log().expand(x.shape), self._event_dim)

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of values of AffineTransform, from that of arguments."""
        shapes = [tuple(getattr(x, "shape", ())) for x in (self.loc, self.scale)]
        return gn.broadcast_shapes(tuple(shape), *shapes)

    inverse_shape = forward_shape


class SoftmaxTransform(Transform):
    """Real vectors as chances; not a bijection, and good for optimizing."""

    domain, codomain = constraints.real_vector, constraints.simplex
    said = ()

    def _call(self, x: Tensor) -> Tensor:
        """The value of SoftmaxTransform at x."""
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        """The inverse of SoftmaxTransform at y."""
        return y.log()
