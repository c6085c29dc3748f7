"""Methods that make a tensor of another one's dtype, on its device.

This file loads when one of its names is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.tensor.creation import empty, full, ones, settings_like, tensor, zeros
from gnomon.tensor.tensor import Tensor

__all__ = ["new_empty", "new_full", "new_ones", "new_tensor", "new_zeros"]


def new_tensor(
    self: Tensor,
    data: Any,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of values, of this one's dtype."""
    return tensor(data, **settings_like(self, dtype, device), requires_grad=requires_grad)


def beside(create: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A creation method with the tensor's dtype and device."""

    def make(
        self: Tensor,
        *size: Any,
        dtype: object = None,
        device: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        settings = settings_like(self, dtype, device)
        return create(*size, **settings, requires_grad=requires_grad)

    make.__name__ = make.__qualname__ = f"new_{create.__name__}"
    make.__doc__ = f"{(create.__doc__ or '').rstrip('.')}, of this tensor's dtype."
    return make


new_zeros, new_ones, new_empty = map(beside, (zeros, ones, empty))


def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    dtype: object = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of one value, in this tensor's dtype."""
    settings = settings_like(self, dtype, device)
    return full(size, fill_value, **settings, requires_grad=requires_grad)
