"""Windows of signals, and numbers at equal ratios: rows of numbers by a formula."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError
from gnomon.tensor.creation import finished, get_default_dtype
from gnomon.tensor.device import check_device
from gnomon.tensor.tensor import Tensor, from_array


def cosines(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    """A sum of cosines of a turn and its multiples, with alternating signs."""

    def shape(turn: np.ndarray) -> np.ndarray:
        return sum((-1) ** k * w * np.cos(k * turn) for k, w in enumerate(weights))

    return shape


def window(name: str, shape: Callable[[np.ndarray], np.ndarray], what: str) -> Callable:
    """A function that gives a window of so many numbers."""

    def make(
        window_length: int,
        periodic: bool = True,
        *,
        dtype: object = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        check_device(device)
        if window_length < 0:
            raise ArgumentError(f"{name}: lengths are not negative: got {window_length}.")
        gaps = max(window_length if periodic else window_length - 1, 1)
        values = shape(np.arange(window_length) * (2 * math.pi / gaps))
        values = np.ones(1) if window_length == 1 else values
        kind = dtype_of(get_default_dtype() if dtype is None else dtype)
        return finished(from_array(values.astype(kind.numpy)), requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{what} A periodic one leaves out its last number."
    return make


hann_window = window("hann_window", cosines(0.5, 0.5), "A raised cosine.")
hamming_window = window("hamming_window", cosines(0.54, 0.46), "A raised cosine above 0.")
blackman_window = window("blackman_window", cosines(0.42, 0.5, 0.08), "Blackman's three cosines.")
bartlett_window = window(
    "bartlett_window", lambda turn: 1 - np.abs(turn / math.pi - 1), "Up and down in straight lines."
)


def logspace(
    start: float,
    end: float,
    steps: int,
    base: float = 10.0,
    *,
    dtype: object = None,
    device: object = None,
) -> Tensor:
    """Powers of a base whose exponents have equal distances."""
    check_device(device)
    kind = dtype_of(get_default_dtype() if dtype is None else dtype)
    return from_array(np.logspace(start, end, steps, base=base).astype(kind.numpy))
