"""Measures of what quantization changes."""

from __future__ import annotations

import numpy as np

from gnomon.errors import ShapeError
from gnomon.tensor.tensor import Tensor, array_of

__all__ = ["sqnr"]


def sqnr(x: Tensor, y: Tensor) -> float:
    """The ratio of a signal to its error, in decibels: 20 log10(‖x‖ / ‖x − y‖); inf where equal.

    Raises ShapeError for tensors of different shapes. torchao calls it `compute_error`.

    >>> from gnomon import tensor
    >>> sqnr(tensor([3.0, 4.0]), tensor([3.0, 4.5]))
    20.0
    """
    if tuple(x.shape) != tuple(y.shape):
        raise ShapeError(f"sqnr: shapes must be equal: got {tuple(x.shape)} and {tuple(y.shape)}.")
    signal, other = (array_of(z.detach()).astype(np.float64) for z in (x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.linalg.norm(signal) / np.linalg.norm(signal - other)
        return float(20 * np.log10(ratio)) if signal.any() else -np.inf
