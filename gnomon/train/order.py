"""The order of training text: the window of (seed, step, index in the batch), a pure function.

Resuming needs no state, and any number of readers agree. Windows are shuffled by sorting hashes,
since library generators may change between versions.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gnomon.ir.memo import memo
from gnomon.utils.hashing import mix

__all__ = ["batch_at", "windows"]

ODD = np.uint64(0x9E3779B97F4A7C15)


def windows(tokens: int, length: int) -> int:
    """The number of windows of `length` tokens and a target after each, without overlap."""
    return (tokens - 1) // length


@memo
@lru_cache(maxsize=2)
def shuffled(seed: int, epoch: int, count: int) -> np.ndarray:
    """The order of the windows in one pass over the text."""
    start = mix(np.array([seed], np.uint64) * ODD + np.uint64(epoch))
    keys = mix(start + np.arange(1, count + 1, dtype=np.uint64) * ODD)
    return np.argsort(keys, kind="stable")


def batch_at(tokens: np.ndarray, shape: tuple[int, int], seed: int, step: int) -> np.ndarray:
    """The windows of a step, (batch, length + 1): each token and, shifted by one, its target.

    Each pass reads every window once, in a new order.
    """
    batch, length = shape
    count = windows(len(tokens), length)
    rows = []
    for place in range(step * batch, (step + 1) * batch):
        epoch, position = divmod(place, count)
        start = int(shuffled(seed, epoch, count)[position]) * length
        rows.append(tokens[start : start + length + 1])
    return np.stack(rows)
