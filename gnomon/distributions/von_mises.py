"""The von Mises distribution."""

from __future__ import annotations

import math

import gnomon as gn
from gnomon.distributions import constraints
from gnomon.distributions.distribution import Family, Shape
from gnomon.tensor.random import draw
from gnomon.tensor.tensor import Tensor

POINTS = 128
"""Of a half circle, over which Bessel functions are means: exact to rounding below FAR."""
FAR = 500.0
"""Above this concentration a series in its inverse is taken."""


def bessel(x: Tensor) -> tuple[Tensor, Tensor]:
    """exp(−x) times the modified Bessel functions of order 0 and 1, for x not below 0."""
    near = x.clamp(max=FAR).unsqueeze(-1)
    angles = (gn.arange(POINTS, dtype=x.dtype) + 0.5) * (math.pi / POINTS)
    weights = (near * (angles.cos() - 1)).exp()
    z = 1 / x.clamp(min=FAR)
    root = (z / (2 * math.pi)).sqrt()
    zero = root * (1 + z / 8 * (1 + z * 9 / 16 * (1 + z * 25 / 24)))
    one = root * (1 - z * 3 / 8 * (1 + z * 5 / 16 * (1 + z * 21 / 24)))
    is_far = x > FAR
    return (
        gn.where(is_far, zero, weights.mean(-1)),
        gn.where(is_far, one, (weights * angles.cos()).mean(-1)),
    )


class VonMises(Family):
    """Angles around loc: a normal distribution on the circle."""

    support = constraints.real
    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    mean = mode = property(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        """One minus the length of the mean direction."""
        zero, one = bessel(self.concentration)
        return 1 - one / zero

    def log_density(self, value: Tensor) -> Tensor:
        """The logarithm of VonMises's density at a checked value."""
        k = self.concentration
        turned = k * ((value - self.loc).cos() - 1)
        return turned - math.log(2 * math.pi) - bessel(k)[0].log()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Samples of VonMises."""
        shape = self._extended_shape(sample_shape)
        with gn.no_grad():
            away = draw("random_von_mises", (self.concentration.expand(shape),), None)
            return (away + self.loc + math.pi) % (2 * math.pi) - math.pi
