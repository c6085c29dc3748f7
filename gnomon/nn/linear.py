"""Layers that contract: Linear, Bilinear; and tables that are looked up: Embedding."""

from __future__ import annotations

from math import sqrt
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn import init
from gnomon.nn.module import Module
from gnomon.nn.parameter import Parameter, empty_parameter
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.tensor import Tensor


class Identity(Module):
    """Its input."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input."""
        return input


class Linear(Module):
    """x · weightᵀ + bias."""

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
        if bias:
            self.bias = empty_parameter(out_features)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters."""
        init.kaiming_uniform_(self.weight, a=sqrt(5))
        if self.bias is not None:
            bound = 1 / sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        """x · weightᵀ + bias."""
        return FUNCTIONS["linear"](input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch gives the projection inside its attention."""


class Bilinear(Module):
    """x · weight · y + bias."""

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
        if bias:
            self.bias = empty_parameter(out_features)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters."""
        bound = 1 / sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """x · weight · y + bias."""
        return FUNCTIONS["bilinear"](input1, input2, self.weight, self.bias)


class Embedding(Module):
    """Rows of a table by position."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        if max_norm is not None or scale_grad_by_freq:
            raise ArgumentError("Embedding: max_norm and scale_grad_by_freq are not supported.")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError("Embedding: Padding_idx must be within num_embeddings")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = (
            empty_parameter(num_embeddings, embedding_dim)
            if _weight is None
            else Parameter(_weight)
        )
        if _weight is None:
            self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Draw the table; the padding's row is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> Embedding:
        """An embedding with a table that is given."""
        made = cls(*embeddings.shape, padding_idx=padding_idx, _weight=embeddings)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input: Tensor) -> Tensor:
        """The rows at the positions."""
        return FUNCTIONS["embedding"](input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """The sizes."""
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
