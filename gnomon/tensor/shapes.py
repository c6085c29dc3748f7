"""Tensors of shapes alone: for programs that are captured and looked at, and never run.

A model of any size is made in no memory. What would read a value must not be asked for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from math import prod

from gnomon.dtypes import DType
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import holding
from gnomon.tensor.state import leaf
from gnomon.tensor.tensor import Tensor, wrap

__all__ = ["is_shapes_only", "shapes_only", "without_value"]

_shapes_only: ContextVar[bool] = ContextVar("gnomon_shapes_only", default=False)


def shapes_only() -> holding[bool]:
    """Make parameters and the state of optimizers without values inside this block.

    >>> from gnomon import nn
    >>> with shapes_only():
    ...     layer = nn.Linear(1 << 20, 1 << 20, bias=False)
    >>> layer.weight.shape
    Size([1048576, 1048576])
    """
    return holding(_shapes_only, True)


def is_shapes_only() -> bool:
    """Whether parameters are made without values here."""
    return _shapes_only.get()


def without_value(shape: Sequence[int], dtype: DType) -> Tensor:
    """A tensor that has a shape and a dtype, and no memory."""
    size = prod(shape) * dtype.itemsize
    return wrap(leaf(tuple(shape), dtype, DeviceBuffer.foreign(0, size, None, readonly=True)))
