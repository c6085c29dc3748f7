"""Peak: the measured speed of matrix products on this machine, to which `% of peak` refers."""

from __future__ import annotations

import time

import numpy as np

import gnomon as gn

__all__ = ["measured_peak"]

SIZE = 768
ROUNDS = 8


def measured_peak() -> float:
    """Multiplications and additions per second of a float32 matrix product that fits the cache."""
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
