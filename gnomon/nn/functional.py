"""torch.nn.functional's names: operations of the registry, and the few that need more than nodes.

Dropout draws random numbers, batch norm writes running statistics, and some keywords mean "write
the result to the input". Everything else is generated from the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.attention import scaled_dot_product_attention  # noqa: F401 - PyTorch's place
from gnomon.nn.ctc import ctc_loss  # noqa: F401 - PyTorch's place
from gnomon.ops.registry import OPS
from gnomon.tensor.autograd import no_grad
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.operators import write_result
from gnomon.tensor.random import default_generator
from gnomon.tensor.tensor import Tensor, apply

AS_THEY_ARE = (
    *("linear", "bilinear", "layer_norm", "rms_norm", "group_norm", "local_response_norm"),
    *("normalize", "cosine_similarity", "pairwise_distance", "pad", "glu", "logsigmoid"),
    *("softsign", "tanhshrink", "softshrink", "hardshrink", "gelu", "softplus", "prelu"),
    *("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cross_entropy", "nll_loss"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"),
    *("cosine_embedding_loss", "margin_ranking_loss", "hinge_embedding_loss"),
    *("multilabel_soft_margin_loss", "multi_margin_loss", "channel_shuffle"),
    *("triplet_margin_loss", "soft_margin_loss", "gaussian_nll_loss", "poisson_nll_loss"),
    *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    *("max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d"),
    *("adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "interpolate"),
    *(
        "pixel_shuffle",
        "pixel_unshuffle",
        "grid_sample",
        "affine_grid",
        "linears",
        "sigmoid",
        "tanh",
    ),
)
"""Operations whose functional form is the same function."""

WRITERS = (
    *("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh"),
    *("hardswish", "hardsigmoid", "threshold"),
)
"""Operations that take `inplace`."""


def writer(name: str) -> Callable:
    """An operation that can write its result to its input."""
    function = FUNCTIONS[name]

    def call(input: Tensor, *args: Any, inplace: bool = False, **named: Any) -> Tensor:
        if args and isinstance(args[-1], bool):
            args, inplace = args[:-1], args[-1]
        result = function(input, *args, **named)
        return write_result(input, result, f"{name}_") if inplace else result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


for _name in AS_THEY_ARE:
    globals()[_name] = FUNCTIONS[_name]
unfold, fold, upsample = FUNCTIONS["im2col"], FUNCTIONS["col2im"], FUNCTIONS["interpolate"]
for _name in WRITERS:
    globals()[_name] = writer(_name)
    globals()[f"{_name}_"] = getattr(Tensor, f"{_name}_")


def implicit_axis(input: Tensor, dim: int | None) -> int:
    """The axis that PyTorch takes when none is named."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """exp(x) as shares of their sum along an axis."""
    return FUNCTIONS["softmax"](input, implicit_axis(input, dim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """The logarithm of softmax."""
    return FUNCTIONS["log_softmax"](input, implicit_axis(input, dim), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None) -> Tensor:
    """softmax of -x."""
    return FUNCTIONS["softmin"](input, implicit_axis(input, dim))


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of a table; the row at padding_idx gets no gradient."""
    return FUNCTIONS["embedding"](input, weight, padding_idx)


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
    """Rows of a table folded bag by bag; gradients are dense, whatever `sparse` says."""
    if max_norm is not None or scale_grad_by_freq:
        raise ArgumentError("embedding_bag: max_norm and scale_grad_by_freq are not supported.")
    return FUNCTIONS["embedding_bag"](
        input,
        weight,
        offsets,
        mode=mode,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each position and 0 elsewhere, along a new last axis."""
    count = int(tensor.max().item()) + 1 if num_classes == -1 else num_classes
    return FUNCTIONS["one_hot"](tensor, count)


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """PyTorch's options of linear_cross_entropy.

    Only the rows of a piece matter: backward passes may be repeated, and sums are taken in float32
    with one result, in any case.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str = "auto"
    acc_policy: str = "auto"
    acc_dtype: object = None


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
    **named: Any,
) -> Tensor | tuple[Tensor, Tensor]:
    """cross_entropy(linear(input, linear_weight), target), in pieces that need little memory.

    Further keywords: z_loss, softcap, shift, return_lse, strategy, max_memory.
    """
    if options is not None and options.batch_chunk_size is not None:
        named = {"strategy": "batch", "most_rows": options.batch_chunk_size, **named}
    return FUNCTIONS["linear_cross_entropy"](
        input,
        linear_weight,
        target,
        linear_bias=linear_bias,
        weight=weight,
        reduction=reduction,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        **named,
    )


# what draws


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """x with elements set to 0 by chance, and the others scaled up, in training."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: dropout probability has to be between 0 and 1, but got {p}.")
    if not training or p == 0:
        return input
    result = apply(OPS["dropout"], (input, default_generator.key(), float(p)))
    return write_result(input, result, "dropout_") if inplace else result


def feature_dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """x with whole channels set to 0 by chance."""
    if not training or p == 0:
        return input
    channels = input.reshape(*input.shape[:2], -1)[:, :, :1].detach()
    kept = dropout(FUNCTIONS["ones_like"](channels), p)
    return input * kept.reshape(*input.shape[:2], *(1,) * (input.ndim - 2))


dropout1d = dropout2d = dropout3d = feature_dropout


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Dropout that keeps mean and variance after selu."""
    if not training or p == 0:
        return input
    low = -1.7580993408473766
    keep = dropout(FUNCTIONS["ones_like"](input).detach(), p) * (1 - p)
    scale = ((1 - p) * (1 + p * low**2)) ** -0.5
    return (input * keep + low * (1 - keep)) * scale + scale * -low * p


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A random choice that gradients pass: softmax of logits with Gumbel noise."""
    share = apply(OPS["random_uniform"], (default_generator.key(), tuple(logits.shape)))
    noise = -(-(share + 2.0**-25).log()).log().to(logits.dtype)
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.argmax(dim=dim, keepdim=True)
    chosen = FUNCTIONS["zeros_like"](soft).scatter(dim, index, 1.0)
    return chosen - soft.detach() + soft


# what writes


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """x normalized per channel, by its own statistics in training, else by the running ones."""
    if not training:
        return apply(OPS["batch_norm"], (input, running_mean, running_var, weight, bias, eps))
    if input.numel() == input.shape[1]:
        raise ArgumentError(
            "batch_norm: Expected more than 1 value per channel when training, got input size "
            f"{tuple(input.shape)}."
        )
    result, mean, var = apply(OPS["batch_norm_training"], (input, weight, bias, eps))
    if running_mean is not None:
        with no_grad():
            follow(running_mean, mean.detach(), momentum)
            follow(running_var, var.detach(), momentum)
    return result


def follow(running: Tensor, new: Tensor, momentum: float | Tensor) -> None:
    """Move a running statistic towards a new one."""
    running.copy_(running * (1 - momentum) + new.to(running.dtype) * momentum)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """x normalized per sample and channel."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if running_mean is not None:
        axes = tuple(range(2, input.ndim))
        with no_grad():
            follow(running_mean, input.mean(dim=axes).mean(dim=0), momentum)
            follow(running_var, input.var(dim=axes, correction=1).mean(dim=0), momentum)
    return FUNCTIONS["instance_norm"](input, weight, bias, eps)
