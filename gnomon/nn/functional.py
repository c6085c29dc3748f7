"""torch.nn.functional's names, from the registry of operations and from a few functions here.

Dropout draws random numbers, batch norm writes running statistics, and some keywords mean "write
the result to the input". Everything else is generated from the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from inspect import signature
from types import FunctionType
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.lazy import settle as _settle
from gnomon.nn import own_rows, value_checks
from gnomon.nn.attention import (  # noqa: F401 - PyTorch's place
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from gnomon.nn.compositions import (  # noqa: F401 - PyTorch's place
    triplet_margin_with_distance_loss,
    upsample_bilinear,
    upsample_nearest,
)
from gnomon.nn.ctc import ctc_loss  # noqa: F401 - PyTorch's place
from gnomon.nn.embedding_functions import (  # noqa: F401 - PyTorch's place
    embedding,
    embedding_bag,
)
from gnomon.nn.unpooling import (  # noqa: F401 - PyTorch's place
    fractional_max_pool2d,
    fractional_max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from gnomon.ops.registry import OPS, explained
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.composites import conv_tbc  # noqa: F401 - PyTorch's place
from gnomon.tensor.functions import FUNCTIONS, apply
from gnomon.tensor.operators import write_result
from gnomon.tensor.overrides import overridable
from gnomon.tensor.random import default_generator
from gnomon.tensor.selection import pdist  # noqa: F401 - PyTorch's place
from gnomon.tensor.tensor import Tensor


def writer(name: str) -> Callable:
    """The function of an operation with the argument `inplace`."""
    function = FUNCTIONS[name]

    def call(input: Tensor, *args: Any, inplace: bool = False, **named: Any) -> Tensor:
        if args and isinstance(args[-1], bool):
            args, inplace = args[:-1], args[-1]
        result = function(input, *args, **named)
        return write_result(input, result, f"{name}_") if inplace else result

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    return call


for _op in dict.fromkeys(OPS.values()):
    _name, _facts = _op.__name__, _op.facts
    if _facts.functional:
        _names = (_name,) if _facts.functional is True else _facts.functional
        globals().update(dict.fromkeys(_names, FUNCTIONS[_name]))
    if _facts.inplace:
        globals().update({_name: writer(_name), f"{_name}_": getattr(Tensor, f"{_name}_")})


for _name, _check in value_checks.CHECKS.items():
    globals()[_name] = value_checks.checked(globals()[_name], _check)


def with_indices(name: str) -> Callable:
    """The function of a pooling that also returns the indices of maxima."""
    function = globals()[name]

    def call(input: Tensor, *args: Any, **named: Any) -> tuple[Tensor, Tensor]:
        return function(input, *args, **{**named, "return_indices": True})

    call.__name__ = call.__qualname__ = f"{name}_with_indices"
    call.__doc__ = function.__doc__
    return call


for _name in [name for name, value in globals().items() if isinstance(value, FunctionType)]:
    if "return_indices" in signature(globals()[_name]).parameters:
        globals()[f"{_name}_with_indices"] = with_indices(_name)


def implicit_axis(input: Tensor, dim: int | None) -> int:
    """The given axis, or the one that PyTorch takes for None."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """exp(x) divided by its sum along an axis.

    Shapes: input (*s) -> (*s)

    >>> softmax(tensor([0.0, 0.0]), dim=0)
    Tensor([0.5, 0.5])
    """
    return FUNCTIONS["softmax"](input, implicit_axis(input, dim), dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: object = None
) -> Tensor:
    """The logarithm of softmax.

    Shapes: input (*s) -> (*s)

    >>> log_softmax(tensor([0.0, 0.0]), dim=0)
    Tensor([-0.6931, -0.6931])
    """
    return FUNCTIONS["log_softmax"](input, implicit_axis(input, dim), dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, *, dtype: object = None) -> Tensor:
    """The softmax of -x.

    Shapes: input (*s) -> (*s)

    >>> softmin(tensor([0.0, 0.0]), dim=0)
    Tensor([0.5, 0.5])
    """
    return softmax(-input, implicit_axis(input, dim), dtype=dtype)


def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """Vectors with 1 at each position and 0 elsewhere, along a new last axis.

    Shapes: input (*s) -> (*s, num_classes) if num_classes > 0 else (*s, n)

    >>> one_hot(tensor([2, 0]))
    Tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    count = int(input.max().item()) + 1 if num_classes == -1 else num_classes
    return FUNCTIONS["one_hot"](input, count)


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """PyTorch's options of linear_cross_entropy.

    Only batch_chunk_size has an effect: backward passes may be repeated, and sums are taken in
    float32 with one result, in any case.
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
    """cross_entropy(linear(input, linear_weight), target), computed in chunks to save memory.

    Further keywords: z_loss, softcap, shift, return_lse, strategy, max_memory.

    Shapes: input (*s, d), linear_weight (c, d), target (*s) -> (*s) if reduction == "none" else
    ()

    >>> linear_cross_entropy(tensor([[1.0, 0.0]]), zeros(4, 2), tensor([3]))
    Tensor(1.3863)
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
    """x with elements set to 0 at random, and the others scaled up, in training.

    Shapes: input (*s) -> (*s)

    >>> dropout(tensor([1.0, 2.0]), p=1.0)
    Tensor([0., 0.])
    >>> dropout(tensor([1.0, 2.0]), p=2.0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: dropout: dropout probability has to be between 0 and 1, but got
    2.0.
    """
    value_checks.check_chance("dropout", p)
    if not training or p == 0:
        return input
    result = apply(OPS["dropout"], (input, default_generator.key(), float(p)))
    return write_result(input, result, "dropout_") if inplace else result


def feature_dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """x with whole channels set to 0 at random, and the others scaled up, in training.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> feature_dropout(tensor([[[1.0, 2.0]]]), p=1.0)
    Tensor([[[0., 0.]]])
    """
    value_checks.check_chance("dropout", p)
    if not training or p == 0:
        return input
    channels = input.reshape(*input.shape[:2], -1)[:, :, :1].detach()
    kept = dropout(FUNCTIONS["ones_like"](channels), p)
    return input * kept.reshape(*input.shape[:2], *(1,) * (input.ndim - 2))


dropout1d = dropout2d = dropout3d = feature_dropout


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance after selu.

    Shapes: input (*s) -> (*s)

    >>> alpha_dropout(tensor([1.0, 2.0]), training=False)
    Tensor([1., 2.])
    """
    return alpha_dropped("alpha_dropout_", input, input, p, training, inplace)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> feature_alpha_dropout(tensor([[[1.0, 2.0]]]), training=False)
    Tensor([[[1., 2.]]])
    """
    channels = input.sum(dim=tuple(range(2, input.ndim)), keepdim=True) if input.ndim > 2 else input
    return alpha_dropped("feature_alpha_dropout_", input, channels, p, training, inplace)


def alpha_dropped(
    name: str, input: Tensor, like: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    """x with random elements replaced by selu's lowest value; one draw per element of `like`."""
    value_checks.check_chance("alpha_dropout", p)
    if not training or p == 0:
        return input
    low = -1.7580993408473766
    keep = dropout(FUNCTIONS["ones_like"](like).detach(), p) * (1 - p)
    scale = ((1 - p) * (1 + p * low**2)) ** -0.5
    result = (input * keep + low * (1 - keep)) * scale + scale * -low * p
    return write_result(input, result, name) if inplace else result


def rrelu(
    input: Tensor,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """x if positive, else x times a slope: drawn at random in training, else the middle one.

    Shapes: input (*s) -> (*s)

    >>> rrelu(tensor([-3.0, 1.0]), 0.25, 0.75)
    Tensor([-1.5,  1. ])
    """
    if lower > upper:
        raise ArgumentError(f"rrelu: lower is at most upper: got {lower} and {upper}.")
    share: Any = (lower + upper) / 2
    if training:
        drawn = apply(OPS["random_uniform"], (default_generator.key(), tuple(input.shape)))
        share = drawn.to(input.dtype) * (upper - lower) + lower
    result = FUNCTIONS["where"](input > 0, input, input * share)
    return write_result(input, result, "rrelu_") if inplace else result


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A differentiable random choice: the softmax of logits with Gumbel noise.

    Shapes: logits (*s) -> (*s)

    >>> gumbel_softmax(tensor([-100.0, 100.0]), hard=True)
    Tensor([0., 1.])
    """
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
    """x normalized per channel, by the batch's statistics in training, else by running ones.

    Shapes: input (n, c, *s), running_mean (c), running_var (c) -> (n, c, *s)

    >>> batch_norm(tensor([[1.0], [5.0]]), None, None, training=True)
    Tensor([[-1.],
            [ 1.]])
    """
    if eps < 0:
        raise ArgumentError(f"batch_norm: eps must be at least 0: got {eps}.")
    if not training:
        return apply(OPS["batch_norm"], (input, running_mean, running_var, weight, bias, eps))
    if rows := own_rows.layout_of_rows(input):
        kept = {"running_mean": running_mean, "running_var": running_var, "momentum": momentum}
        apart = partial(batch_norm, **kept, training=True, eps=eps)
        return own_rows.normalized_apart(input, rows, apart, weight, bias)
    if input.numel() == input.shape[1]:
        problem = "batch_norm: Expected more than 1 value per channel when training, got input size"
        raise ArgumentError(f"{problem} {tuple(input.shape)}.")
    result, mean, var = apply(OPS["batch_norm_training"], (input, weight, bias, eps))
    if running_mean is not None and input.numel():
        with no_grad():
            follow(running_mean, mean.detach(), momentum)
            follow(running_var, var.detach(), momentum)
    return result


def follow(running: Tensor, new: Tensor, momentum: float | Tensor) -> None:
    """Update a running statistic in place: a step of size `momentum` towards the new value."""
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
    """x normalized per sample and channel.

    Shapes: input (n, c, *s) -> (n, c, *s)

    >>> instance_norm(tensor([[[1.0, 5.0]]]))
    Tensor([[[-1.,  1.]]])
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    value_checks.check_places(input)
    if running_mean is not None:
        axes = tuple(range(2, input.ndim))
        with no_grad():
            follow(running_mean, input.mean(dim=axes).mean(dim=0), momentum)
            follow(running_var, input.var(dim=axes, correction=1).mean(dim=0), momentum)
    return FUNCTIONS["instance_norm"](input, weight, bias, eps)


for _name, _function in list(globals().items()):
    if getattr(_function, "__module__", None) == __name__ and isinstance(_function, FunctionType):
        globals()[_name] = overridable(explained(_function))
_settle(__name__, globals())
rrelu_ = partial(rrelu, inplace=True)
