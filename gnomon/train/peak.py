"""The highest measured arithmetic rate of this machine, the basis of `% of peak`."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

import gnomon as gn

__all__ = ["Peak", "measured_peak"]

SIZE = 768
ROUNDS = 8
RISEN = 1.01
"""The smallest rise of the peak that is reported: fractions are printed as whole percents."""


@dataclass
class Peak:
    """The highest flops per second reached by a probe or a step, on all ranks together.

    A machine that is busy while it is probed reaches less than it can: a faster step raises the
    peak.
    """

    flops: float

    def __post_init__(self) -> None:
        self.before = self.flops

    def part(self, flops: float) -> float:
        """A step's flops per second as a fraction of the peak, which it may raise.

        >>> peak = Peak(2e9)
        >>> peak.part(1e9), peak.part(4e9), peak.part(1e9)
        (0.5, 1.0, 0.25)
        """
        self.flops = max(self.flops, flops)
        return flops / self.flops

    def correction(self) -> str:
        """A note that earlier fractions are too high, if the peak rose by a percent; else empty.

        >>> peak = Peak(2e9)
        >>> peak.part(4e9), peak.correction()
        (1.0, 'the peak is 4 GFLOP/s, not 2: shares of it until here are too high')
        """
        before = self.before
        if self.flops < RISEN * before:
            return ""
        self.before = self.flops
        most, least = self.flops / 1e9, before / 1e9
        return (
            f"the peak is {most:.0f} GFLOP/s, not {least:.0f}: shares of it until here are too high"
        )


def measured_peak() -> float:
    """The flops per second of a float32 matrix product that fits the cache."""
    ones = gn.from_numpy(np.ones((SIZE, SIZE), np.float32))

    @gn.compile
    def product(left: gn.Tensor, right: gn.Tensor) -> gn.Tensor:
        return left @ right

    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        product(ones, ones).numpy()
        best = min(best, time.perf_counter() - began)
    return 2 * SIZE**3 / best
