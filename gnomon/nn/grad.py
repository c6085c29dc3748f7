"""torch.nn.grad: the gradients of convolutions as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon import nn
from gnomon.tensor.creation import zeros
from gnomon.tensor.func import vjp
from gnomon.tensor.tensor import Tensor

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]

PerAxis = int | Sequence[int]


def of_input(count: int) -> Callable[..., Tensor]:
    """The function conv1d_input, 2d or 3d: the gradient of a convolution's input."""

    def function(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        def slid(x: Tensor) -> Any:
            return conv(x, weight, None, stride, padding, dilation, groups)

        point = zeros(tuple(input_size), dtype=grad_output.dtype)
        return vjp(slid, point)[1](grad_output)[0]

    conv = getattr(nn.functional, f"conv{count}d")
    function.__name__ = function.__qualname__ = f"conv{count}d_input"
    function.__doc__ = f"""The gradient of conv{count}d's input, given that of its result.

    >>> import gnomon as gn
    >>> weight, g = gn.ones(1, 1{", 2" * count}), gn.ones(1, 1{", 3" * count})
    >>> conv{count}d_input((1, 1{", 4" * count}), weight, g).shape
    Size([1, 1{", 4" * count}])
    """
    return function


def of_weight(count: int) -> Callable[..., Tensor]:
    """The function conv1d_weight, 2d or 3d: the gradient of a convolution's weight."""

    def function(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: PerAxis = 1,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
    ) -> Tensor:
        def slid(weight: Tensor) -> Any:
            return conv(input, weight, None, stride, padding, dilation, groups)

        point = zeros(tuple(weight_size), dtype=grad_output.dtype)
        return vjp(slid, point)[1](grad_output)[0]

    conv = getattr(nn.functional, f"conv{count}d")
    function.__name__ = function.__qualname__ = f"conv{count}d_weight"
    function.__doc__ = f"""The gradient of conv{count}d's weight, given that of its result.

    >>> import gnomon as gn
    >>> x, g = gn.ones(1, 1{", 4" * count}), gn.ones(1, 1{", 3" * count})
    >>> conv{count}d_weight(x, (1, 1{", 2" * count}), g).shape
    Size([1, 1{", 2" * count}])
    """
    return function


conv1d_input, conv2d_input, conv3d_input = map(of_input, (1, 2, 3))
conv1d_weight, conv2d_weight, conv3d_weight = map(of_weight, (1, 2, 3))
