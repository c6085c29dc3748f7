"""Sobol sequences: points that fill a cube more evenly than random ones, by scipy."""

from __future__ import annotations

import numpy as np

from gnomon.errors import ArgumentError
from gnomon.lazy import Lazy
from gnomon.tensor.creation import get_default_dtype, tensor
from gnomon.tensor.random import randint
from gnomon.tensor.tensor import Tensor

__all__ = ["SobolEngine"]

qmc = Lazy("scipy.stats.qmc")


class SobolEngine:
    """A Sobol sequence in the unit cube, the direction numbers PyTorch's (Joe and Kuo 2008).

    dimension: 1 to 21,201. scramble: whether the points are scrambled at random, which keeps them
    even; the scrambling is scipy's, by `seed` or the default generator, so that scrambled points
    are not those of PyTorch. Raises ModuleNotFoundError without scipy (`gnomon[sobol]`).
    """

    MAXBIT, MAXDIM = 30, 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ArgumentError(
                f"SobolEngine: the dimension is 1 to {self.MAXDIM}: got {dimension}."
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.num_generated = 0
        drawn = randint(1 << 31, (1,)).item() if scramble and seed is None else seed
        try:
            self._points = qmc.Sobol(dimension, scramble=scramble, bits=self.MAXBIT, rng=drawn)
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                "SobolEngine: scipy makes the points, and is not installed. "
                "pip install 'gnomon[sobol]'",
                name=missing.name,
            ) from missing

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: object = None) -> Tensor:
        """The next n points as rows, in the default dtype where none is given."""
        found = np.empty((0, self.dimension)) if n == 0 else self._points.random(n)
        self.num_generated += n
        made = tensor(found, dtype=dtype or (get_default_dtype() if out is None else out.dtype))
        return made if out is None else out.resize_(made.shape).copy_(made)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: object = None) -> Tensor:
        """The next 2ᵐ points; ArgumentError where the count of all points is then no power of 2."""
        count = self.num_generated + (1 << m)
        if count & (count - 1):
            raise ArgumentError(
                f"SobolEngine: the points are even where there are 2ⁿ of them: got "
                f"{self.num_generated} and {1 << m} more. Use draw()."
            )
        return self.draw(1 << m, out, dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point."""
        self._points.reset()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next n points."""
        self._points.fast_forward(n)
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        scramble = f", scramble={self.scramble}" if self.scramble else ""
        seed = "" if self.seed is None else f", seed={self.seed}"
        return f"SobolEngine(dimension={self.dimension}{scramble}{seed})"
