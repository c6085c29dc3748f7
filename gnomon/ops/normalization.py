"""Softmax and the normalizations.

Sums and squares are computed in float32 at least, in two passes, and rounded once. Statistics over
several axes are one reduction; batch and sequence are never flattened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.lazy import sym_float
from gnomon.ops.arguments import Axes, floating, floats_only, many_axes, wide
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.reductions import fold, mean_of
from gnomon.ops.registry import op
from gnomon.ops.statistics import largest, moments, vector_norm
from gnomon.ops.view_primitives import pad, window


def softmax_gradient(g: Node, y: Node, x: Node, axis: int, **_: Any) -> Node:
    """The gradient of softmax, from its result alone."""
    axes = many_axes("softmax", axis, x.rank)
    g, z = wide(g), wide(y)
    return cast(z * (g - expand(fold("add", g * z, axes, True), x.shape)), x.dtype)


def np_softmax(x: np.ndarray, axis: int, dtype: Any = None) -> np.ndarray:
    """Compute softmax with numpy."""
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)


@op(reference=np_softmax, gradient=softmax_gradient, autocast="wide", special=True)
def softmax(x: Node, axis: int, *, dtype: object = None) -> Node:
    """Exponentials along an axis, divided by their sum.

    exp(x − m) / sum(exp(x − m)), m the maximum.

    >>> softmax(tensor([0.0, 0.0, 0.0, 0.0]), -1)
    Tensor([0.25, 0.25, 0.25, 0.25])
    >>> softmax(ones(2), 1)
    Traceback (most recent call last):
    gnomon.errors.AxisError: softmax: no axis 1 in a tensor of 1 axes.
    """
    kind, axes = result_kind(x, dtype), many_axes("softmax", one_axis_only(axis), x.rank)
    x = wide(cast(x, kind))
    e = elementwise("exp", x - largest(x, axes))
    return cast(e / fold("add", e, axes, True), kind)


@op(reference=lambda x, axis, dtype=None: np_softmax(-x, axis))
def softmin(x: Node, axis: int) -> Node:
    """softmax of −x.

    Shapes: x (...) -> (...)

    >>> softmin(tensor([0.0, 0.0, 2.0]), -1)
    Tensor([0.4683, 0.4683, 0.0634])
    """
    return softmax(-floating(x), axis)


def one_axis_only(axis: object) -> int:
    """Return the axis; raises if it is not one integer."""
    if not isinstance(axis, int):
        raise ArgumentError(f"softmax: needs one axis: got {axis!r}. Use axis=-1 for the last.")
    return axis


def result_kind(x: Node, dtype: object):
    """The dtype asked for, else that of x as floats."""
    return floating(x).dtype if dtype is None else dtype_of(dtype)


def log_softmax_gradient(g: Node, y: Node, x: Node, axis: int, **_: Any) -> Node:
    """The gradient of log_softmax, from its result alone."""
    axes = many_axes("log_softmax", axis, x.rank)
    g, z = wide(g), wide(y)
    return cast(g - elementwise("exp", z) * fold("add", g, axes, True), x.dtype)


@op(
    reference=lambda x, axis, dtype=None: np.log(np_softmax(x, axis)),
    special=True,
    gradient=log_softmax_gradient,
    autocast="wide",
)
def log_softmax(x: Node, axis: int, *, dtype: object = None) -> Node:
    """log(softmax(x)), without underflow.

    Shapes: x (...) -> (...)

    >>> log_softmax(tensor([0.0, 1000.0]), -1)
    Tensor([-1000.,     0.])
    """
    kind, axes = result_kind(x, dtype), many_axes("log_softmax", one_axis_only(axis), x.rank)
    x = wide(cast(x, kind))
    away = x - largest(x, axes)
    return cast(away - elementwise("log", fold("add", elementwise("exp", away), axes, True)), kind)


# norms of layers


def normalized_axes(name: str, x: Node, shape: int | Sequence[int], *weights: Node | None):
    """The last axes of x that `shape` covers; raises if sizes of x or weights differ from it."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(f"{name}: x must end in {shape}: got {x.shape}.")
    for weight in weights:
        if weight is not None and weight.shape != shape:
            raise ShapeError(
                f"{name}: weight and bias must be {shape}, the last sizes of x {x.shape}: "
                f"got {weight.shape}."
            )
    return tuple(range(x.rank - len(shape), x.rank))


def affine(y: Node, weight: Node | None, bias: Node | None) -> Node:
    """weight · y + bias, in the dtype of y; None is skipped."""
    y = y if weight is None else y * cast(weight, y.dtype)
    return y if bias is None else y + cast(bias, y.dtype)


def standardized(x: Node, axes: tuple[int, ...], eps: float) -> Node:
    """(x − mean) / sqrt(variance + eps) over axes, in the accumulator's dtype."""
    middle, variance = moments(x, axes, 0, True)
    return (wide(x) - middle) * elementwise("rsqrt", variance + eps)


def np_standardized(x: np.ndarray, axes: Any, eps: Any):
    """Standardize x over axes with numpy."""
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def np_scaled(y: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None):
    """Compute weight · y + bias with numpy."""
    return y * (1 if weight is None else weight) + (0 if bias is None else bias)


@op(
    reference=lambda x, shape, weight=None, bias=None, eps=1e-5: np_scaled(
        np_standardized(x, tuple(range(-len(shape), 0)), eps), weight, bias
    ),
    autocast="wide",
    functional=True,
    hints=("cudnn_enable",),
    order="cudnn_enable",
)
def layer_norm(
    x: Node,
    normalized_shape: int | Sequence[int],
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """Normalize x to mean 0 and variance 1 over its last axes, then scale and shift.

    Shapes: x (..., *normalized_shape), weight (*normalized_shape), bias (*normalized_shape) ->
    (..., *normalized_shape)

    (x − mean) / √(variance + eps) · weight + bias, mean and variance over the last axes (Ba,
    Kiros and Hinton 2016, arXiv:1607.06450).

    >>> layer_norm(tensor([1.0, 2.0, 3.0]), 3)
    Tensor([-1.2247,  0.    ,  1.2247])
    >>> layer_norm(ones(2, 3), 4)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: layer_norm: x must end in (4,): got (2, 3).
    """
    floats_only("layer_norm", x)
    axes = normalized_axes("layer_norm", x, normalized_shape, weight, bias)
    return cast(affine(standardized(x, axes, eps), weight, bias), x.dtype)


@op(
    reference=lambda x, shape, weight=None, eps=None: np_scaled(
        x / np.sqrt(np.mean(x * x, tuple(range(-len(shape), 0)), keepdims=True) + (eps or 0)),
        weight,
        None,
    ),
    autocast="wide",
    functional=True,
)
def rms_norm(
    x: Node,
    normalized_shape: int | Sequence[int],
    weight: Node | None = None,
    eps: float | None = None,
) -> Node:
    """Divide x by its root mean square over its last axes, then scale.

    Shapes: x (..., *normalized_shape), weight (*normalized_shape) -> (..., *normalized_shape)

    eps, added under the root, defaults to the smallest relative step of x's dtype.

    x / √(mean(x²) + eps) · weight (Zhang and Sennrich 2019, arXiv:1910.07467, eq. 4).

    >>> rms_norm(tensor([3.0, 4.0]), 2)
    Tensor([0.8485, 1.1314])
    >>> rms_norm(ones(2, 3), 4)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: rms_norm: x must end in (4,): got (2, 3).
    """
    floats_only("rms_norm", x)
    axes, z = normalized_axes("rms_norm", x, normalized_shape, weight), wide(x)
    eps = float(np.finfo(z.dtype.numpy).eps) if eps is None else eps
    y = z * elementwise("rsqrt", mean_of(z * z, axes, True) + eps)
    return cast(affine(y, weight, None), x.dtype)


def per_channel(x: Node, value: Node) -> Node:
    """A vector over channels, reshaped to broadcast along axis 1 of x."""
    if x.rank < 2 or value.shape != (x.shape[1],):
        raise ShapeError(
            f"norm: what is per channel must be (c,), c the size of axis 1 of x {x.shape}: "
            f"got {value.shape}."
        )
    return reshape(value, tuple(n if k == 1 else 1 for k, n in enumerate(x.shape)))


def scaled_by_channel(y: Node, x: Node, weight: Node | None, bias: Node | None) -> Node:
    """weight · y + bias, both vectors over the channels of x."""
    return affine(y, *(None if v is None else per_channel(x, v) for v in (weight, bias)))


@op(autocast="wide")
def batch_norm(
    x: Node,
    mean: Node,
    var: Node,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """Normalize each channel (axis 1) by a given mean and variance, then scale and shift.

    Shapes: x (n, c, ...), mean (c), var (c) -> (n, c, ...)

    (x − mean) / √(var + eps) · weight + bias (Ioffe and Szegedy 2015, arXiv:1502.03167,
    algorithm 1).

    >>> batch_norm(tensor([[1.0], [5.0]]), tensor([3.0]), tensor([4.0]))
    Tensor([[-1.],
            [ 1.]])
    """
    floats_only("batch_norm", x)
    middle, spread = (wide(per_channel(x, v)) for v in (mean, var))
    y = (wide(x) - middle) * elementwise("rsqrt", spread + eps)
    return cast(scaled_by_channel(y, x, weight, bias), x.dtype)


def batch_norm_gradient(
    gs: Sequence[Node | None],
    results: Sequence[Node],
    x: Node,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> tuple[Node | None, ...]:
    """The gradient of batch norm, from two sums per channel."""
    if gs[0] is None:
        return tuple(None for v in (x, weight, bias) if v is not None)
    axes = tuple(k for k in range(x.rank) if k != 1)
    middle, variance = moments(x, axes, 0, True)
    scale = elementwise("rsqrt", variance + eps)
    g, y = wide(gs[0]), (wide(x) - middle) * scale
    along_g, along_y = (fold("add", v, axes, True) for v in (g, g * y))
    share = sym_float.ratio(x.shape[1], max(x.size, 1), g.dtype.bits)
    back = g - along_g * share - y * (along_y * share)
    if weight is not None:
        scale = scale * cast(per_channel(x, weight), scale.dtype)
    parts = [cast(back * scale, x.dtype)]
    for v, total in ((weight, along_y), (bias, along_g)):
        if v is not None:
            parts.append(cast(reshape(total, v.shape), v.dtype))
    return tuple(parts)


@op(gradient=batch_norm_gradient, autocast="wide")
def batch_norm_training(
    x: Node, weight: Node | None = None, bias: Node | None = None, eps: float = 1e-5
) -> tuple[Node, Node, Node]:
    """batch_norm by the batch's own mean and variance, returned too, the variance unbiased.

    Shapes: x (n, c, ...) -> (n, c, ...), (c), (c)

    No gradient flows through the two statistics, which are meant for running averages.

    >>> batch_norm_training(tensor([[1.0], [5.0]]))[0]
    Tensor([[-1.],
            [ 1.]])
    >>> batch_norm_training(tensor([[1.0]]))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: batch_norm: training needs two values per channel: got x (1, 1).
    """
    floats_only("batch_norm", x)
    if x.rank < 2:
        raise ShapeError(f"batch_norm: x must be (n, c, ...): got {x.shape}.")
    axes = tuple(k for k in range(x.rank) if k != 1)
    count = math.prod(x.shape[k] for k in axes)
    if count == 1:
        raise ShapeError(f"batch_norm: training needs two values per channel: got x {x.shape}.")
    middle, variance = moments(x, axes, 0, True)
    y = (wide(x) - middle) * elementwise("rsqrt", variance + eps)
    y = scaled_by_channel(y, x, weight, bias)
    seen = (reshape(middle, (x.shape[1],)), reshape(variance, (x.shape[1],)))
    fixed = [x.arena.node("detach", (v,)) for v in seen]
    factor = sym_float.ratio(count, count - 1, fixed[1].dtype.bits)
    return cast(y, x.dtype), fixed[0], fixed[1] * factor


@op(autocast="wide", functional=True, hints=("cudnn_enabled",), order="cudnn_enabled")
def group_norm(
    x: Node,
    num_groups: int,
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
) -> Node:
    """Normalize each sample over groups of channels (axis 1), then scale and shift per channel.

    Shapes: x (n, c, ...) -> (n, c, ...)

    (x − mean) / √(variance + eps) · weight + bias, mean and variance over a group (Wu and He
    2018, arXiv:1803.08494).

    >>> group_norm(tensor([[1.0, 3.0, 10.0, 30.0]]), 2)
    Tensor([[-1.,  1., -1.,  1.]])
    >>> group_norm(ones(1, 4), 3)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: group_norm: axis 1 of x (1, 4) does not fall into 3 equal groups.
    """
    floats_only("group_norm", x)
    if x.rank < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ShapeError(
            f"group_norm: axis 1 of x {x.shape} does not fall into {num_groups} equal groups."
        )
    grouped = reshape(x, (x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups))
    y = reshape(standardized(grouped, (2,), eps), x.shape)
    return cast(scaled_by_channel(y, x, weight, bias), x.dtype)


@op
def instance_norm(
    x: Node, weight: Node | None = None, bias: Node | None = None, eps: float = 1e-5
) -> Node:
    """Normalize each channel of each sample, then scale and shift per channel.

    Shapes: x (n, c, ...) -> (n, c, ...)

    (x − mean) / √(variance + eps) · weight + bias, mean and variance over a channel's places
    (Ulyanov, Vedaldi and Lempitsky 2016, arXiv:1607.08022).

    >>> instance_norm(tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    Tensor([[[-1.,  1.],
             [-1.,  1.]]])
    >>> instance_norm(ones(1, 2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: instance_norm: x must be (n, c, size, ...): got (1, 2).
    """
    floats_only("instance_norm", x)
    if x.rank < 3:
        raise ShapeError(f"instance_norm: x must be (n, c, size, ...): got {x.shape}.")
    y = standardized(x, tuple(range(2, x.rank)), eps)
    return cast(scaled_by_channel(y, x, weight, bias), x.dtype)


@op(functional=True)
def local_response_norm(
    x: Node, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Node:
    """Divide x by a power of the mean square of neighbouring channels (axis 1).

    Shapes: x (n, c, ...) -> (n, c, ...)

    x / (k + alpha · mean(x² of size channels))^beta (Krizhevsky, Sutskever and Hinton 2012,
    section 3.3; there a sum takes the mean's place).

    >>> local_response_norm(ones(1, 3, 1), 3, alpha=3.0, beta=1.0).flatten()
    Tensor([0.3333, 0.25  , 0.3333])
    >>> local_response_norm(ones(1, 3, 1), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: local_response_norm: size counts channels, 1 to 7 for x (1, 3, 1):
    got 0.
    """
    if not x.size:
        return x
    if x.rank < 2 or not 0 < size <= 2 * x.shape[1] + 1:
        raise ArgumentError(
            f"local_response_norm: size counts channels, 1 to {2 * sum(x.shape[1:2]) + 1} for x "
            f"{x.shape}: got {size}."
        )
    none = (0,) * x.rank
    before, after = ((0, n, *none[2:]) for n in (size // 2, (size - 1) // 2))
    near = window(pad(wide(x) * wide(x), before, after), 1, size)
    scale = elementwise("pow", mean_of(near, (x.rank,), False) * alpha + k, beta)
    return cast(wide(x) / scale, x.dtype)


# lengths and angles


@op(functional=True)
def normalize(x: Node, p: float = 2.0, axis: Axes = 1, eps: float = 1e-12) -> Node:
    """Divide x by its p-norm along an axis, with norms at least eps.

    Shapes: x (...) -> (...)

    >>> normalize(tensor([[3.0, 4.0]]))
    Tensor([[0.6, 0.8]])
    """
    floats_only("normalize", x)
    return x / elementwise("maximum", vector_norm(x, p, axis, True), eps)
