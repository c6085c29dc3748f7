"""A hash of integers, for random orders and draws that depend on their seed alone."""

from __future__ import annotations

import numpy as np

__all__ = ["mix"]


def mix(words: np.ndarray) -> np.ndarray:
    """Hash 64-bit integers bijectively, with SplitMix64's finalizer.

    >>> int(mix(np.array([0], np.uint64))[0]), int(mix(np.array([1], np.uint64))[0]) >> 60
    (0, 5)
    """
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
