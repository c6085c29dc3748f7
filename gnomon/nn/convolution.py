"""Convolutions and their transposes over one, two or three axes."""

from __future__ import annotations

from functools import partial
from math import sqrt
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.nn import init
from gnomon.nn.module import Module
from gnomon.nn.module_texts import repeated, unusual
from gnomon.nn.parameter import empty_parameter
from gnomon.ops.arguments import choice
from gnomon.tensor.tensor import Tensor


def per_axis(value: Any, count: int) -> Any:
    """A setting as a tuple of one number per axis; a text unchanged."""
    return value if isinstance(value, str) else repeated(value, count)


single, pair, triple = (partial(repeated, count=count) for count in (1, 2, 3))


class Convolution(Module):
    """Base of convolutions: settings, parameters and their initialization."""

    COUNT = 0
    TRANSPOSED = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"{type(self).__name__}: in_channels and out_channels must be divisible by groups: "
                f"got {in_channels}, {out_channels} and {groups}."
            )
        n = self.COUNT
        self._check_padding(padding, per_axis(stride, n), padding_mode)
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = per_axis(kernel_size, n), per_axis(stride, n)
        self.padding, self.dilation = per_axis(padding, n), per_axis(dilation, n)
        self.padding_mode = padding_mode
        first, second = (
            (in_channels, out_channels) if self.TRANSPOSED else (out_channels, in_channels)
        )
        self.weight = empty_parameter(first, second // groups, *self.kernel_size)
        self.register_parameter("bias", empty_parameter(out_channels) if bias else None)
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def _check_padding(self, padding: Any, stride: tuple[int, ...], mode: str) -> None:
        """Refuse unknown names of paddings, and those that do not fit the strides."""
        name = type(self).__name__
        choice(name, "padding_mode", mode, ("zeros", "circular", "replicate", "reflect"))
        if isinstance(padding, str):
            choice(name, "padding", padding, ("valid", "same"))
            if padding == "same" and any(step != 1 for step in stride):
                raise ArgumentError(f"{name}: padding='same' needs stride 1: got {stride}.")

    def reset_parameters(self) -> None:
        """Initialize the parameters at random."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        if self.bias is not None:
            inside, _ = init.fans(self.weight)
            if inside:
                init.uniform_(self.bias, -1 / sqrt(inside), 1 / sqrt(inside))

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of the input with the weight."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._borders(), self.padding_mode), 0
        function = getattr(F, f"conv{self.COUNT}d")
        settings = (self.stride, padding, self.dilation, self.groups)
        return function(input, self.weight, self.bias, *settings)

    def _borders(self) -> list[int]:
        """The padding widths in the order of pad(): last axis first."""
        if self.padding == "valid":
            return [0] * (2 * self.COUNT)
        widths: list[int] = []
        for axis in reversed(range(self.COUNT)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                widths += [total // 2, total - total // 2]
            else:
                widths += [self.padding[axis]] * 2
        return widths

    def extra_repr(self) -> str:
        """The settings as text; after the stride only those that differ from the defaults."""
        none, one = (0,) * self.COUNT, (1,) * self.COUNT
        first = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        sizes = unusual(self, padding=none, dilation=one, output_padding=none, groups=1)
        bias = ", bias=False" if self.bias is None else ""
        return f"{first}, stride={self.stride}{sizes}{bias}{unusual(self, padding_mode='zeros')}"


class Conv1d(Convolution):
    """A convolution over one axis.

    Shapes: input (b, in_channels, *s) -> (b, out_channels, *p); p = (s + padding * 2 - dilation *
    (kernel_size - 1) - 1) // stride + 1

    >>> Conv1d(2, 4, 3)(ones(1, 2, 5)).shape
    Size([1, 4, 3])
    """

    COUNT = 1


class Conv2d(Convolution):
    """A convolution over two axes.

    Shapes: input (b, in_channels, *s) -> (b, out_channels, *p); p = (s + padding * 2 - dilation *
    (kernel_size - 1) - 1) // stride + 1

    >>> Conv2d(2, 4, 3)(ones(1, 2, 5, 5)).shape
    Size([1, 4, 3, 3])
    """

    COUNT = 2


class Conv3d(Convolution):
    """A convolution over three axes.

    Shapes: input (b, in_channels, *s) -> (b, out_channels, *p); p = (s + padding * 2 - dilation *
    (kernel_size - 1) - 1) // stride + 1

    >>> Conv3d(2, 4, 3)(ones(1, 2, 5, 5, 5)).shape
    Size([1, 4, 3, 3, 3])
    """

    COUNT = 3


class TransposedConvolution(Convolution):
    """Base of transposed convolutions."""

    TRANSPOSED = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: object = None,
        dtype: object = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ArgumentError(f"{type(self).__name__}: only zeros padding mode is supported.")
        super().__init__(
            *(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias),
            dtype=dtype,
        )
        self.output_padding = per_axis(output_padding, self.COUNT)

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution of the input with the weight."""
        more = self.output_padding if output_size is None else self._fill(input, output_size)
        function = getattr(F, f"conv_transpose{self.COUNT}d")
        settings = (self.stride, self.padding, more, self.groups, self.dilation)
        return function(input, self.weight, self.bias, *settings)

    def _fill(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The output padding that gives an output of the requested size."""
        asked = tuple(output_size)[-self.COUNT :]
        least = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(
                *(input.shape[-self.COUNT :], self.stride, self.padding),
                *(self.dilation, self.kernel_size),
                strict=True,
            )
        ]
        return tuple(a - n for a, n in zip(asked, least, strict=True))


class ConvTranspose1d(TransposedConvolution):
    """A transposed convolution over one axis.

    Shapes: input (b, in_channels, *s) -> (b, out_channels, *p); p = (s - 1) * stride - padding *
    2 + dilation * (kernel_size - 1) + output_padding + 1

    >>> ConvTranspose1d(2, 4, 3, stride=2)(ones(1, 2, 3)).shape
    Size([1, 4, 7])
    """

    COUNT = 1


class ConvTranspose2d(TransposedConvolution):
    """A transposed convolution over two axes.

    Shapes: input (b, in_channels, *s) -> (b, out_channels, *p); p = (s - 1) * stride - padding *
    2 + dilation * (kernel_size - 1) + output_padding + 1

    >>> ConvTranspose2d(2, 4, 3, stride=2)(ones(1, 2, 3, 3)).shape
    Size([1, 4, 7, 7])
    """

    COUNT = 2


class ConvTranspose3d(TransposedConvolution):
    """A transposed convolution over three axes.

    Shapes: input (b, in_channels, *s) -> (b, out_channels, *p); p = (s - 1) * stride - padding *
    2 + dilation * (kernel_size - 1) + output_padding + 1

    >>> ConvTranspose3d(2, 4, 3, stride=2)(ones(1, 2, 3, 3, 3)).shape
    Size([1, 4, 7, 7, 7])
    """

    COUNT = 3
