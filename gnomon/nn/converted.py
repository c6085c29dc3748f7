"""Convert a module's parameters and buffers: to another dtype or device, or to empty ones.

module.py has the modules' methods for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from gnomon.dtypes import DType, dtype_of
from gnomon.errors import ComplexError
from gnomon.lazy import layouts
from gnomon.nn.parameter import is_lazy
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.conversions import target
from gnomon.tensor.creation import empty, empty_like
from gnomon.tensor.device import card_named
from gnomon.tensor.placing import place, with_like
from gnomon.tensor.state import mesh_results
from gnomon.tensor.tensor import Tensor, alias
from gnomon.tensor.views import full_chain


class Converted:
    """Base of Module with the methods that replace parameters' and buffers' values."""

    def _apply(self, fn: Callable[[Tensor], Tensor]) -> Self:
        """Replace the values of all parameters, gradients and buffers by fn of them."""
        for module in self.modules():
            with no_grad():
                for value in module._parameters.values():
                    if is_lazy(value):
                        value.data = fn(value)
                    elif value is not None:
                        value.data, gradient = fn(value.data), value.grad
                        value.grad = None if gradient is None else fn(gradient)
                for name, value in module._buffers.items():
                    if is_lazy(value):
                        value.data = fn(value)
                    elif value is not None:
                        module._buffers[name] = fn(value)
        return self

    def to(self, *args: Any, **named: Any) -> Self:
        """Cast floating parameters and buffers to a dtype, and move all to a device."""
        args = with_like("nn.Module.to", args, named, "tensor")
        asked = {k: v for k, v in named.items() if k in ("dtype", "device")}
        dtype, device = target(args, asked), place(args, asked)
        if dtype is None:
            return self if device is None else self._apply(lambda t: t.to(device=device))
        if not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got {dtype}")
        kept = {} if device is None else {"device": device}
        lost = next((x for x in self.parameters() if x.is_complex()), None)
        if lost is not None:
            raise ComplexError(
                f"nn.Module.to: a parameter of {lost.dtype.name} would lose its imaginary parts as "
                f"{dtype.name}. Use double() or float(), which change real ones alone."
            )
        return self._floats(dtype, **kept)

    def _floats(self, dtype: DType, **kept: Any) -> Self:
        """Cast floating-point parameters and buffers to a dtype."""
        return self._apply(lambda t: t.to(dtype if t.dtype.is_floating_point else t.dtype, **kept))

    def type(self, dst_type: object) -> Self:
        """Cast all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.to(dtype_of(dst_type)))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._floats(dtype_of("float32"))

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._floats(dtype_of("float64"))

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._floats(dtype_of("float16"))

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._floats(dtype_of("bfloat16"))

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU; TraceError for those without elements."""
        return self.to(device="cpu")

    def cuda(self, device: object = None) -> Self:
        """Move parameters and buffers to the card; ArgumentError without one."""
        return self.to(device=card_named(device))

    def share_memory(self) -> Self:
        """Move all parameters and buffers to shared memory, as Tensor.share_memory_ does."""
        return self._apply(lambda t: t.share_memory_())

    def to_empty(self, *, device: object, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device, with uninitialized values."""
        return self._apply(lambda t: emptied(t, device))


def emptied(value: Tensor, device: object) -> Tensor:
    """An uninitialized tensor on a device, with another one's shape and layout over ranks."""
    if not mesh_results or not layouts.layout_of(value):
        return empty_like(value, device=device)
    part = value._storage.node
    return alias(empty(part.shape, dtype=part.dtype, device=device), full_chain(value))
