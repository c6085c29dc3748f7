"""Linear and Bilinear."""

from __future__ import annotations

from math import sqrt
from typing import Any

from gnomon.nn import init
from gnomon.nn.module import Module
from gnomon.nn.parameter import empty_parameter
from gnomon.nn.value_checks import check_sizes
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor


class Identity(Module):
    """Return the input unchanged.

    Shapes: input (*s) -> (*s)

    >>> Identity()(tensor([1.0, 2.0]))
    Tensor([1., 2.])
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Unflatten(Module):
    """Split one axis into several; one size may be -1.

    Shapes: input (*a, n, *b) -> (*a, *unflattened_size, *b)

    Raises DtypeError for sizes that are not integers.

    >>> Unflatten(1, (3, -1))(ones(2, 6)).shape
    Size([2, 3, 2])
    """

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        check_sizes("Unflatten", unflattened_size)
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        """The input with the axis split."""
        return FUNCTIONS["unflatten"](input, self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        """The axis and its sizes as text."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Linear(Module):
    """The linear layer x · weightᵀ + bias.

    Shapes: input (*s, in_features) -> (*s, out_features)

    >>> Linear(3, 2)(tensor([[1.0, 2.0, 3.0]])).shape
    Size([1, 2])
    >>> Linear(3, 2)(tensor([[1.0, 2.0]]))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: linear: weight must be (out, 2) for x (1, 2): got (2, 3).
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
        self.weight = empty_parameter(out_features, in_features)
        self.register_parameter("bias", empty_parameter(out_features) if bias else None)
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Initialize the parameters at random."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        if self.bias is not None:
            bound = 1 / sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """x · weightᵀ + bias."""
        return FUNCTIONS["linear"](input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes as text."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear by PyTorch's name of the output projection in its attention."""


class Bilinear(Module):
    """The bilinear layer x · weight · y + bias.

    Shapes: input1 (*s, in1_features), input2 (*s, in2_features) -> (*s, out_features)

    >>> Bilinear(2, 1, 4)(tensor([1.0, 2.0]), tensor([3.0])).shape
    Size([4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        self.in1_features, self.in2_features = in1_features, in2_features
        self.out_features = out_features
        self.weight = empty_parameter(out_features, in1_features, in2_features)
        self.register_parameter("bias", empty_parameter(out_features) if bias else None)
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Initialize the parameters at random."""
        bound = 1 / sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """x · weight · y + bias."""
        return FUNCTIONS["bilinear"](input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes as text."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
