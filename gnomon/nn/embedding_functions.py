"""Embedding lookups, with rows limited in norm and gradients divided by frequency on request."""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ops.registry import explained
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.autograd.function import Function
from gnomon.tensor.creation import ones, zeros
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.overrides import overridable
from gnomon.tensor.tensor import Tensor

__all__ = ["embedding", "embedding_bag"]

TINY = 1e-7
"""The constant that PyTorch adds to a norm before it divides."""


@overridable
@explained
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of a table at positions; the row at padding_idx gets no gradient.

    max_norm: rows that are looked up are scaled down to this norm in the table. scale_grad_by_freq:
    a row's gradient is divided by the number of its lookups. Gradients are dense, whatever `sparse`
    says.

    Shapes: input (*s), weight (n, d) -> (*s, d)

    >>> embedding(tensor([1, 0]), tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[3., 4.],
            [1., 2.]])
    """
    table = prepared_table(input, weight, max_norm, norm_type, scale_grad_by_freq)
    return FUNCTIONS["embedding"](input, table, padding_idx)


@overridable
@explained
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of a table's rows in each bag; `sparse` has no effect.

    Shapes: input (b, k), weight (n, d) -> (b, d)

    >>> embedding_bag(tensor([[1, 0]]), tensor([[1.0, 2.0], [3.0, 4.0]]))
    Tensor([[2., 3.]])
    """
    if scale_grad_by_freq and mode == "max":
        raise ArgumentError(
            "embedding_bag: scaling gradients by the frequency was not supported with max mode"
        )
    return FUNCTIONS["embedding_bag"](
        input,
        prepared_table(input, weight, max_norm, norm_type, scale_grad_by_freq),
        offsets,
        mode=mode,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )


def prepared_table(
    input: Tensor, weight: Tensor, max_norm: float | None, norm_type: float, by_frequency: bool
) -> Tensor:
    """The table with rows scaled down to max_norm, or with gradients divided by frequency."""
    if max_norm is not None:
        shorten(weight, input, max_norm, norm_type)
    return SharedOut.apply(weight, times(weight, input)) if by_frequency else weight


def shorten(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale looked-up rows down to max_norm, in the table itself."""
    with no_grad():
        places = input.reshape(-1).long()
        rows = weight.detach()[places]
        norms = FUNCTIONS["vector_norm"](rows, norm_type, -1, True)
        factors = FUNCTIONS["where"](norms > max_norm, max_norm / (norms + TINY), 1.0)
        weight.index_copy_(0, places, rows * factors.to(rows.dtype))


def times(weight: Tensor, input: Tensor) -> Tensor:
    """The number of times that each row is looked up, as a column; at least 1."""
    places = input.reshape(-1).long()
    often = zeros(len(weight)).index_add(0, places, ones(tuple(places.shape)))
    return often.clamp(min=1).unsqueeze(1).to(weight.dtype)


class SharedOut(Function):
    """The identity of a table, whose gradient is divided by the frequencies of rows."""

    @staticmethod
    def forward(context: Any, weight: Tensor, times: Tensor) -> Tensor:
        """A copy of the table."""
        context.save_for_backward(times)
        return weight.clone()

    @staticmethod
    def backward(context: Any, grad: Tensor) -> tuple[Tensor, None]:
        """The gradient, divided by the frequencies."""
        (times,) = context.saved_tensors
        return grad / times, None
