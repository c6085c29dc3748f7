"""skip_init, and conversions of memory format, which have no effect here."""

from __future__ import annotations

from typing import Any

from gnomon.nn.module import Module
from gnomon.tensor.device import CPU, META

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]
__all__ += ["skip_init"]


def skip_init(module_cls: type[Module], *settings: Any, **named: Any) -> Module:
    """Create a module with uninitialized parameters (zeros), to be filled by the caller.

    >>> from gnomon.nn import Linear
    >>> skip_init(Linear, 2, 1).weight
    Parameter([[0., 0.]], requires_grad=True)
    """
    with META:
        made = module_cls(*settings, **named)
    return made.to_empty(device=CPU)


def convert_conv2d_weight_memory_format(module: Module, memory_format: object) -> Module:
    """Return the module: the compiler chooses memory layouts.

    >>> from gnomon.nn import Conv2d
    >>> convert_conv2d_weight_memory_format(Conv2d(1, 1, 1), "channels_last")
    Conv2d(1, 1, kernel_size=(1, 1), stride=(1, 1))
    """
    return module


convert_conv3d_weight_memory_format = convert_conv2d_weight_memory_format
