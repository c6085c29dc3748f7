"""gn.signal.windows: PyTorch's windows of M numbers, symmetric unless sym=False.

The older functions, gn.hann_window and its kin, are in windows.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gnomon.tensor.tensor import Tensor
from gnomon.tensor.windows import cosines, drawn, half_circle, straight


def window(name: str, what: str, shape: Callable[..., np.ndarray]) -> Callable[..., Tensor]:
    """A window function; `shape` maps angles of one period to values."""

    def make(
        M: int,
        *,
        sym: bool = True,
        dtype: object = None,
        layout: object = None,
        device: object = None,
        requires_grad: bool = False,
        **form: Any,
    ) -> Tensor:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return drawn(name, M, M - 1 if sym else M, partial(shape, **form), **options)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{what} Without sym, one that may be repeated."
    return make


def places(angle: np.ndarray) -> tuple[np.ndarray, float]:
    """The positions 0, 1, … of angles, and the number of gaps in a period."""
    count = np.arange(len(angle))
    return count, 2 * math.pi / angle[1] if len(angle) > 1 else 1.0


def half_sine(angle: np.ndarray) -> np.ndarray:
    """Half a period of a sine, positive everywhere."""
    place, gaps = places(angle)
    return np.sin((place + 0.5) * (math.pi / (gaps + 1)))


def decay(angle: np.ndarray, center: float | None = None, tau: float = 1.0) -> np.ndarray:
    """An exponential decay to both sides of the center."""
    place, gaps = places(angle)
    return np.exp(-np.abs(place - (gaps / 2 if center is None else center)) / tau)


def bell(angle: np.ndarray, std: float = 1.0) -> np.ndarray:
    """A Gaussian around the center."""
    place, gaps = places(angle)
    return np.exp(-0.5 * ((place - gaps / 2) / std) ** 2)


def weighted(angle: np.ndarray, a: Sequence[float]) -> np.ndarray:
    """A sum of cosines with the caller's weights."""
    return cosines(*a)(angle)


def raised(angle: np.ndarray, alpha: float = 0.54) -> np.ndarray:
    """The generalized Hamming window, alpha − (1 − alpha) · cos."""
    return weighted(angle, (alpha, 1 - alpha))


bartlett = window("bartlett", "Up and down in straight lines.", straight)
blackman = window("blackman", "Blackman's three cosines.", cosines(0.42, 0.5, 0.08))
cosine = window("cosine", "Half a sine.", half_sine)
exponential = window("exponential", "exp(−|k − center| / tau).", decay)
gaussian = window("gaussian", "A normal distribution's shape, std wide.", bell)
general_cosine = window("general_cosine", "A sum of cosines with weights a.", weighted)
general_hamming = window("general_hamming", "alpha minus 1 − alpha of a cosine.", raised)
hamming = window("hamming", "A raised cosine above 0.", raised)
hann = window("hann", "A raised cosine.", cosines(0.5, 0.5))
kaiser = window("kaiser", "Kaiser's window: a Bessel function over a half circle.", half_circle)
nuttall = window(
    "nuttall", "Nuttall's four cosines.", cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)
)
