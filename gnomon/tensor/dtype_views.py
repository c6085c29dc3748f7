"""Tensor.view: the memory of a tensor in another shape, or its bytes under another dtype."""

from __future__ import annotations

from typing import Any

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ArgumentError
from gnomon.tensor.creation import from_numpy
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.memory import lend
from gnomon.tensor.tensor import Tensor

__all__ = ["viewed"]


def viewed(self: Tensor, *shape: Any, dtype: object = None, size: Any = None) -> Tensor:
    """The same memory in another shape, or its bytes under another dtype."""
    named = shape[0] if len(shape) == 1 and isinstance(shape[0], DType) else dtype
    if named is None:
        return FUNCTIONS["reshape"](self, *(shape if size is None else (size,)))
    kind = dtype_of(named)
    try:
        return self if kind is self.dtype else from_numpy(lend(self.detach()).view(kind.numpy))
    except ValueError as cause:
        raise ArgumentError(f"view: {self.dtype} as {kind}: {cause}") from None


Tensor.view = viewed
