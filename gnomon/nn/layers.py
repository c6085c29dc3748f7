"""Layers with weights: linear, embedding, convolution. Each is shapes, initial values, one call."""

from __future__ import annotations

import math
from typing import Any

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.nn import functional as F
from gnomon.nn import init
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter
from gnomon.tensor.tensor import Tensor


class Identity(Module):
    """Gives what it gets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """x."""
        return x


class Linear(Module):
    """x @ weight.T + bias.

    Initial values are uniform within 1 / sqrt(in_features), as PyTorch's.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(gn.empty(out_features, in_features, dtype=dtype, device=device))
        self.bias = Parameter(gn.empty(out_features, dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        """The product along the last axis."""
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x weight y + bias."""

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True
    ) -> None:
        super().__init__()
        bound = 1 / math.sqrt(in1_features)
        self.weight = Parameter(gn.empty(out_features, in1_features, in2_features))
        self.bias = Parameter(gn.empty(out_features)) if bias else None
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """The product with both."""
        return F.bilinear(x, y, self.weight, self.bias)


class Embedding(Module):
    """A row of weight for each number; rows are normal at first."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        _weight: Tensor | None = None,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        given = gn.empty(num_embeddings, embedding_dim, dtype=dtype, device=device)
        self.weight = Parameter(given if _weight is None else _weight)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """An embedding with given rows."""
        made = cls(*embeddings.shape, padding_idx=padding_idx, _weight=embeddings)
        made.weight.requires_grad = not freeze
        return made

    def reset_parameters(self) -> None:
        """Draw initial values; the padding's row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with gn.no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, x: Tensor) -> Tensor:
        """The rows that x names."""
        return F.embedding(x, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


def several(value: int | tuple, n: int) -> tuple[int, ...]:
    """One number per axis."""
    return (value,) * n if isinstance(value, int) else tuple(value)


class Convolution(Module):
    """Base of the convolutions over 1, 2 or 3 axes."""

    axes = 0
    transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple,
        stride: int | tuple = 1,
        padding: int | tuple | str = 0,
        **options: Any,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = several(kernel_size, self.axes)
        self.stride = several(stride, self.axes)
        self.padding = padding if isinstance(padding, str) else several(padding, self.axes)
        self._take(options)
        outer, inner = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        made = {"dtype": options.get("dtype"), "device": options.get("device")}
        self.weight = Parameter(gn.empty(outer, inner // self.groups, *self.kernel_size, **made))
        self.bias = Parameter(gn.empty(out_channels, **made)) if options.get("bias", True) else None
        self.reset_parameters()

    def _take(self, options: dict[str, Any]) -> None:
        """The options by their names."""
        known = {"dilation", "groups", "bias", "padding_mode", "output_padding", "device", "dtype"}
        if options.keys() - known:
            wrong = ", ".join(sorted(options.keys() - known))
            raise ArgumentError(
                f"{type(self).__name__}: no argument {wrong}. It takes {', '.join(sorted(known))}."
            )
        self.dilation = several(options.get("dilation", 1), self.axes)
        self.output_padding = several(options.get("output_padding", 0), self.axes)
        self.groups = options.get("groups", 1)
        self.padding_mode = options.get("padding_mode", "zeros")

    def reset_parameters(self) -> None:
        """Draw initial values."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan, _ = init.fans(self.weight)
            bound = 1 / math.sqrt(fan) if fan else 0
            init.uniform_(self.bias, -bound, bound)

    def padded(self, x: Tensor) -> tuple[Tensor, Any]:
        """x with padding that is not zeros in place, and the padding that is left to do."""
        if self.padding_mode == "zeros" or isinstance(self.padding, str):
            return x, self.padding
        both = tuple(p for n in reversed(self.padding) for p in (n, n))
        return F.pad(x, both, mode=self.padding_mode), 0

    def forward(self, x: Tensor) -> Tensor:
        """The convolution over the last axes."""
        x, padding = self.padded(x)
        call = (F.conv1d, F.conv2d, F.conv3d)[self.axes - 1]
        return call(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}" + ("" if self.bias is not None else ", bias=False")
        )


class Conv1d(Convolution):
    """Convolution along one axis: (n, channels, length)."""

    axes = 1


class Conv2d(Convolution):
    """Convolution along two axes: (n, channels, height, width)."""

    axes = 2


class Conv3d(Convolution):
    """Convolution along three axes: (n, channels, depth, height, width)."""

    axes = 3


class Transposed(Convolution):
    """Base of the transposed convolutions."""

    transposed = True

    def forward(self, x: Tensor) -> Tensor:
        """The transpose of a convolution over the last axes."""
        call = (F.conv_transpose1d, F.conv_transpose2d)[self.axes - 1]
        options = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return call(x, self.weight, self.bias, *options)


class ConvTranspose1d(Transposed):
    """Transposed convolution along one axis."""

    axes = 1


class ConvTranspose2d(Transposed):
    """Transposed convolution along two axes."""

    axes = 2
