"""Masks as indices: arrays of truth values, and the positions that they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import bool_
from gnomon.lazy import host_calls
from gnomon.tensor.tensor import Tensor

__all__ = ["is_mask", "position_arrays", "positions"]


def is_mask(item: Any) -> bool:
    """Whether an item is an array of truth values."""
    array = isinstance(item, np.ndarray) and item.dtype.kind == "b"
    return array or (isinstance(item, Tensor) and item.dtype is bool_)


def positions(mask: Tensor) -> list[Tensor]:
    """The positions of what is not zero, one tensor per axis."""
    return host_calls.done_on_host(position_arrays, [(None,)] * max(mask.ndim, 1), mask)


def position_arrays(array: np.ndarray) -> list[np.ndarray]:
    """The positions of what is not zero, one array per axis."""
    return [x.astype(np.int64) for x in np.nonzero(np.atleast_1d(array))]
