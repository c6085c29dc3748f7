"""Functions of torch whose arguments have another order than in nn.functional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.overrides import overridable

__all__ = ["ARGUMENT_ORDERS"]

Given = gn.Tensor | None


def dropout_of(name: str) -> Callable[..., gn.Tensor]:
    """A dropout of nn.functional with `train` as its third positional argument."""

    def call(input: gn.Tensor, p: float, train: bool) -> gn.Tensor:
        return getattr(gn.nn.functional, name)(input, p, train)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"nn.functional.{name} of an input, a share and whether to drop."
    return call


def batch_norm(
    input: gn.Tensor,
    weight: Given,
    bias: Given,
    running_mean: Given,
    running_var: Given,
    training: bool,
    momentum: float,
    eps: float,
    *hints: bool,
) -> gn.Tensor:
    """nn.functional.batch_norm with its weights first."""
    seen = running_mean, running_var
    return gn.nn.functional.batch_norm(input, *seen, weight, bias, training, momentum, eps)


def instance_norm(
    input: gn.Tensor,
    weight: Given,
    bias: Given,
    running_mean: Given,
    running_var: Given,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    *hints: bool,
) -> gn.Tensor:
    """nn.functional.instance_norm with its weights first."""
    seen = running_mean, running_var
    more = use_input_stats, momentum, eps
    return gn.nn.functional.instance_norm(input, *seen, weight, bias, *more)


def embedding(
    weight: gn.Tensor,
    indices: gn.Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> gn.Tensor:
    """nn.functional.embedding with its table first; padding_idx -1 means none."""
    padding = None if padding_idx == -1 else padding_idx
    words = {"scale_grad_by_freq": scale_grad_by_freq, "sparse": sparse}
    return gn.nn.functional.embedding(indices, weight, padding, **words)


def convolution(
    input: gn.Tensor,
    weight: gn.Tensor,
    bias: Given,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> gn.Tensor:
    """A convolution over as many axes as the weight has after its two channel axes."""
    axes = weight.ndim - 2
    if axes not in (1, 2, 3):
        raise ArgumentError(f"convolution: the weight has 3 to 5 axes: got {weight.ndim}.")
    call = getattr(gn.nn.functional, f"conv{'_transpose' * transposed}{axes}d")
    if transposed:
        return call(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return call(input, weight, bias, stride, padding, dilation, groups)


def qr(input: gn.Tensor, some: bool = True) -> Any:
    """linalg.qr with PyTorch's older argument `some`."""
    return gn.linalg.qr(input, "reduced" if some else "complete")


def bernoulli(
    input: gn.Tensor, p: float | None = None, *, generator: gn.Generator | None = None
) -> gn.Tensor:
    """Draw 0 or 1 per element, with the element or p as the probability of 1."""
    chances = input if p is None else gn.full_like(input, p)
    return gn.bernoulli(chances, generator=generator)


ARGUMENT_ORDERS: dict[str, Callable[..., Any]] = {
    **{name: dropout_of(name) for name in ("alpha_dropout", "dropout", "feature_alpha_dropout")},
    "batch_norm": batch_norm,
    "bernoulli": overridable(bernoulli),
    "convolution": convolution,
    "embedding": embedding,
    "instance_norm": instance_norm,
    "qr": overridable(qr),
}
"""Functions with PyTorch's order of arguments, by their name in torch."""
