"""Convolutions and their transposes over one, two and three axes, and their gradients.

sliding.py computes the sums; this file handles arguments, padding, biases and rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import DType, accumulator
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops.arguments import repeated
from gnomon.ops.linalg import alike
from gnomon.ops.primitives import reduce, reshape
from gnomon.ops.registry import Op, op
from gnomon.ops.sliding import convolved, kernel_gradient, spread_back
from gnomon.ops.windows import Geometry, Pairs, check_reach, padded_axes, zero_padded

Numbers = int | Sequence[int]
MOST_PHASES = 1 << 14
"""The most parts, one per residue of strides, that a transposed convolution is written as."""


def wider(x: Node) -> Node:
    """x cast to the dtype in which its products are summed, before windows are taken."""
    return cast(x, accumulator(x.dtype))


def fitted(x: Node, size: Sequence[int]) -> Node:
    """x cropped, or padded with zeros, to these sizes."""
    pairs = tuple((0, n - m) for n, m in zip(size, x.shape[2:], strict=True))
    return padded_axes(x, 2, pairs, 0.0)


def bias_gradient(g: Node, bias: Node) -> Node:
    """The gradient of a bias: summed over samples and positions."""
    axes = (0, *range(2, g.rank))
    return cast(reduce("add", g, axes, accumulator(g.dtype)), bias.dtype)


def finished(y: Node, bias: Node | None, kind: DType) -> Node:
    """Add the bias, if any, and round to a dtype once."""
    if bias is not None:
        along_channels = tuple(n if k == 1 else 1 for k, n in enumerate(y.shape))
        y = y + reshape(cast(bias, y.dtype), along_channels)
    return cast(y, kind)


def convolution_gradient(
    g: Node,
    y: Node,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    padding: Pairs = (),
    geometry: Geometry = ((), (), 1),
):
    """The gradients of x, weight and bias of a convolution."""
    # made again: x is kept until here, and its padded copy beside it would be as large
    wide, whole = wider(weight), zero_padded(wider(x), padding, apart=True)
    back = spread_back(wider(g), wide, x.shape[2:], padding, geometry)
    parts = (cast(back, x.dtype), kernel_gradient(wider(g), whole, weight, geometry))
    return parts if bias is None else (*parts, bias_gradient(g, bias))


@op(gradient=convolution_gradient)
def convolution(
    x: Node, weight: Node, bias: Node | None, padding: Pairs, geometry: Geometry
) -> Node:
    """Convolution (cross-correlation, as in PyTorch) over all axes after batch and channels.

    Shapes: x (b, c, *s), weight (o, c // geometry[2], *k) -> (b, o, *p)

    padding is (before, after) per axis, geometry is (stride, dilation, groups).

    >>> convolution(ones(1, 1, 4), ones(1, 1, 2), None, ((0, 0),), ((1,), (1,), 1))
    Tensor([[[2., 2., 2.]]])
    """
    check_geometry(x, padding, geometry)
    y = convolved(zero_padded(wider(x), padding), wider(weight), geometry)
    return finished(y, bias, x.dtype)


def check_geometry(x: Node, padding: Pairs, geometry: Geometry) -> None:
    """Refuse padding, stride or dilation that are not given for every spatial axis."""
    if {len(padding), len(geometry[0]), len(geometry[1])} != {x.rank - 2}:
        raise ArgumentError(
            f"convolution: padding, stride and dilation are for {x.rank - 2} axes: "
            f"got {padding} and {geometry}."
        )


def transposed_gradient(
    g: Node,
    y: Node,
    x: Node,
    weight: Node,
    bias: Node | None,
    padding: Pairs,
    size: tuple[int, ...],
    geometry: Geometry,
):
    """The gradients of x, weight and bias of a transposed convolution."""
    whole = zero_padded(wider(g), padding)
    inner = fitted(convolved(whole, wider(weight), geometry), x.shape[2:])
    parts = (cast(inner, x.dtype), kernel_gradient(wider(x), whole, weight, geometry))
    return parts if bias is None else (*parts, bias_gradient(g, bias))


@op(gradient=transposed_gradient)
def transposed_convolution(
    x: Node,
    weight: Node,
    bias: Node | None,
    padding: Pairs,
    size: tuple[int, ...],
    geometry: Geometry,
) -> Node:
    """Transposed convolution: the gradient of a convolution with respect to its input.

    Shapes: x (b, c, *p), weight (c, o, *k) -> (b, o * geometry[2], *size)

    size is that of the result; padding is cut off it.

    >>> transposed_convolution(ones(1, 1, 3), ones(1, 1, 2), None, ((0, 0),), (4,), ((1,), (1,), 1))
    Tensor([[[1., 2., 2., 1.]]])
    >>> transposed_convolution(ones(1, 1, 3), ones(1, 1, 2), None, ((0,),), (4,), ((1,), (1,), 1))
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: transposed_convolution: arguments do not fit each other: ...
    """
    if not all(hasattr(width, "__index__") for pair in padding for width in pair):
        raise TypeError(f"widths are integers: got {padding}")  # which is said of the argument
    y = spread_back(wider(x), wider(weight), size, padding, geometry)
    return finished(y, bias, x.dtype)


def check_operands(name: str, x: Node, weight: Node, groups: int, axis: int) -> None:
    """Refuse channels and axes that do not fit; `axis` is the kernel's axis of input channels."""
    count = int(name[-2])
    if x.rank != count + 2 or weight.rank != count + 2:
        raise ShapeError(
            f"{name}: x must have {count} axes after its channels, weight after its first two: "
            f"got x {x.shape}, weight {weight.shape}."
        )
    met = weight.shape[axis] * (groups if axis == 1 else 1)
    if x.shape[1] != met or groups < 1 or weight.shape[0] % groups:
        raise ShapeError(
            f"{name}: {x.shape[1]} channels of x {x.shape} in {groups} groups do not fit weight "
            f"{weight.shape}."
        )


def margins(
    name: str,
    padding: Numbers | str,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> Pairs:
    """The padding before and after each axis, from numbers, "same" or "valid"."""
    if padding == "valid":
        return tuple((0, 0) for _ in kernel)
    if padding == "same":
        if max(stride) > 1:
            raise ArgumentError(f'{name}: padding="same" needs stride 1: got {tuple(stride)}.')
        totals = [(k - 1) * gap for k, gap in zip(kernel, dilation, strict=True)]
        return tuple((n // 2, n - n // 2) for n in totals)
    if isinstance(padding, str):
        raise ArgumentError(f'{name}: padding is numbers, "same" or "valid": got {padding!r}.')
    return tuple((n, n) for n in repeated(name, padding, len(kernel), "padding", 0))


def with_samples(x: Node, count: int) -> tuple[Node, bool]:
    """x with an axis of samples, and whether it had none before."""
    alone = x.rank == count + 1
    return (reshape(x, (1, *x.shape)) if alone else x), alone


def np_convolution(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
):
    """Compute a convolution over any number of axes with numpy, padded equally on both sides."""
    count = weight.ndim - 2
    stride, padding, dilation = (repeated("", v, count) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    axes = tuple(range(2, 2 + count))
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    steps = (slice(None), slice(None), *(slice(None, None, s) for s in stride))
    views = views[(*steps, *(slice(None, None, d) for d in dilation))]
    outputs = weight.shape[0] // groups
    parts = [
        np.tensordot(v, w, ((1, *range(-count, 0)), tuple(range(1, 2 + count))))
        for v, w in zip(
            np.split(views, groups, 1), np.split(weight, weight.shape[0] // outputs), strict=True
        )
    ]
    y = np.moveaxis(np.concatenate(parts, -1), -1, 1)
    return y if bias is None else y + bias.reshape(1, -1, *(1,) * count)


def convolution_over(count: int) -> Op:
    """Create conv1d, conv2d or conv3d, by the number of axes."""
    name = f"conv{count}d"

    def function(
        x: Node,
        weight: Node,
        bias: Node | None = None,
        stride: Numbers = 1,
        padding: Numbers | str = 0,
        dilation: Numbers = 1,
        groups: int = 1,
    ) -> Node:
        x, alone = with_samples(x, count)
        check_operands(name, x, weight, groups, 1)
        x, weight = alike(name, x, weight)
        steps = repeated(name, stride, count, "stride", 1)
        gaps = repeated(name, dilation, count, "dilation", 1)
        around = margins(name, padding, weight.shape[2:], steps, gaps)
        check_reach(name, x, around, weight.shape[2:], gaps)
        y = convolution(x, weight, bias, around, (steps, gaps, groups))
        return reshape(y, y.shape[1:]) if alone else y

    function.__name__ = name
    function.__doc__ = f"""A kernel slid over {count} axes of x: sums over channels and kernel.

    Shapes: x (b, c, *s), weight (o, c // groups, *k), bias (o)
    -> (b, o, *s) if padding == "same" else (b, o, *p);
    p = (s + padding * 2 - dilation * (k - 1) - 1) // stride + 1

    padding is numbers, "same" or "valid"; groups split channels into that many separate kernels.

    >>> {name}(ones((1, 2{", 5" * count})), ones((4, 2{", 3" * count}))).shape
    Size([1, 4{", 3" * count}])
    """
    return op(
        function,
        inline=True,
        reference=np_convolution,
        autocast="narrow",
        functional=True,
        complex="formula",
    )


def transpose_over(count: int) -> Op:
    """Create conv_transpose1d, conv_transpose2d or conv_transpose3d, by the number of axes."""
    name = f"conv_transpose{count}d"

    def function(
        x: Node,
        weight: Node,
        bias: Node | None = None,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        dilation: Numbers = 1,
    ) -> Node:
        x, alone = with_samples(x, count)
        check_operands(name, x, weight, groups, 0)
        x, weight = alike(name, x, weight)
        steps = repeated(name, stride, count, "stride", 1)
        gaps = repeated(name, dilation, count, "dilation", 1)
        around = tuple((n, n) for n in repeated(name, padding, count, "padding", 0))
        more = repeated(name, output_padding, count, "output_padding", 0)
        if any(n >= max(s, d) for n, s, d in zip(more, steps, gaps, strict=True)):
            raise ArgumentError(
                f"{name}: output_padding must be smaller than stride or dilation: got {more}, "
                f"{steps} and {gaps}."
            )
        rows = zip(x.shape[2:], weight.shape[2:], steps, gaps, around, more, strict=True)
        size = tuple((n - 1) * s + (k - 1) * d + 1 - 2 * p + e for n, k, s, d, (p, _), e in rows)
        if min(size) < 1 or prod(size) * x.shape[0] * weight.shape[1] >> 48:
            raise ShapeError(
                f"{name}: the result would have {size} places: x {x.shape}, stride {steps}, "
                f"padding {padding!r}."
            )
        if prod(min(s, n) for s, n in zip(steps, size, strict=True)) > MOST_PHASES:
            raise ArgumentError(f"{name}: strides of {steps} are more than it can take apart.")
        y = transposed_convolution(x, weight, bias, around, size, (steps, gaps, groups))
        return reshape(y, y.shape[1:]) if alone else y

    function.__name__ = name
    function.__doc__ = f"""The transpose of a convolution over {count} axes.

    Shapes: x (b, c, *s), weight (c, o, *k), bias (o * groups) -> (b, o * groups, *p);
    p = (s - 1) * stride - padding * 2 + dilation * (k - 1) + output_padding + 1

    output_padding lengthens the end of each axis.

    >>> {name}(ones((1, 2{", 3" * count})), ones((2, 4{", 3" * count})), stride=2).shape
    Size([1, 4{", 7" * count}])
    >>> {name}(ones((1, 2{", 3" * count})), ones((2, 4{", 3" * count})), padding=3)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: {name}: the result would have (-1...) places: x ..., padding 3.
    """
    return op(function, inline=True, autocast="narrow", functional=True, complex="formula")


conv1d, conv2d, conv3d = map(convolution_over, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(transpose_over, (1, 2, 3))
