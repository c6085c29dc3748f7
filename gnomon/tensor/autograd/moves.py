"""Moves between devices that gradients pass back."""

from __future__ import annotations

from typing import Any

from gnomon.tensor.autograd.function import Function
from gnomon.tensor.tensor import Tensor

__all__ = ["with_gradient"]


class DeviceCopy(Function):
    """A copy to a device, whose gradient is copied back to the tensor's device."""

    @staticmethod
    def forward(context: Any, x: Tensor, device: object) -> Tensor:
        """The copy."""
        context.device = x.device
        return x.to(device)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """The gradient, on the tensor's device."""
        return gradient.to(context.device), None


def with_gradient(tensor: Tensor, device: object) -> Tensor:
    """The copy of a tensor on another device, with the history of the original."""
    made = DeviceCopy.apply(tensor, device)
    node = made._storage.node
    node.value = node.inputs[0].value  # at hand: no program reads both devices
    return made
