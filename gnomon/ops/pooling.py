"""Pooling: fold windows to their maximum, mean or norm.

A window's maximum is found by index, so its gradient goes to the first of equal elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from gnomon.dtypes import accumulator, int32, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.activations import relu
from gnomon.ops.arguments import floats_only, repeated
from gnomon.ops.creation import zeros
from gnomon.ops.elementwise import pow
from gnomon.ops.indexing import scatter, take_along_axis
from gnomon.ops.patches import around, fold_windows, tiles, unfold
from gnomon.ops.primitives import expand, identity_of, reduce, reshape, unsqueeze
from gnomon.ops.reductions import along, extreme, position
from gnomon.ops.registry import Op, internal, op
from gnomon.ops.scalars import where
from gnomon.ops.windows import Cut, Pairs

Numbers = int | Sequence[int]


def largest_gradient(g: Node, y: Node, x: Node) -> Node:
    """The gradient of a maximum, which goes to the first of equal elements."""
    last = x.rank - 1
    here = elementwise("eq", along(x, last), position("max", x, last, True))
    return where(here, expand(unsqueeze(g, last), x.shape), 0.0)


@op(reference=lambda x: np.max(x, -1), gradient=largest_gradient)
def largest(x: Node) -> Node:
    """The maximum of each row; the first of equal elements gets the gradient.

    Shapes: x (..., n) -> (...)

    >>> largest(tensor([[1.0, 3.0], [5.0, 4.0]]))
    Tensor([3., 5.])
    """
    return extreme("max", x, -1, False)


# geometry


def overhang(size: int, pad: int, kernel: int, step: int, gap: int, ceil_mode: bool) -> int:
    """The number of elements past the padding that the last window needs, by `ceil_mode`."""
    reach = (kernel - 1) * gap + 1
    span = size + 2 * pad - reach
    steps = -(-span // step) if ceil_mode else span // step
    if ceil_mode and steps * step >= size + pad:
        # a window must start inside x or its padding in front
        steps -= 1
    return max(steps * step + reach - (size + 2 * pad), 0)


def pooling_operands(name: str, count: int, x: Node, kernel_size: Numbers, stride: Numbers | None):
    """x with an axis of samples, whether it had none, and kernel and stride per axis."""
    if x.rank not in (count + 1, count + 2):
        raise ShapeError(
            f"{name}: x must be (n, c, ...) with {count} more axes, or without n: got {x.shape}."
        )
    alone = x.rank == count + 1
    kernel = repeated(name, kernel_size, count, "kernel_size", 1)
    own = stride is not None and stride != ()
    steps = repeated(name, stride, count, "stride", 1) if own else kernel
    return (reshape(x, (1, *x.shape)) if alone else x), alone, kernel, steps


def padding_of(
    name: str,
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Numbers,
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Pairs:
    """The padding before and after each axis."""
    pads = repeated(name, padding, len(kernel), "padding", 0)
    if any(2 * p > k for p, k in zip(pads, kernel, strict=True)):
        raise ArgumentError(
            f"{name}: padding is at most half the kernel: got {padding!r} for {tuple(kernel)}."
        )
    rows = zip(x.shape[2:], pads, kernel, stride, dilation, strict=True)
    return tuple((p, p + overhang(n, p, k, s, d, ceil_mode)) for n, p, k, s, d in rows)


# largest


def first_of_largest(windows: Node, y: Node) -> Node:
    """The position in each window of its largest element, the first of equal ones."""
    won = elementwise("eq", windows, unsqueeze(y, 2))
    if y.dtype.is_floating_point:
        won = elementwise("or", won, elementwise("isnan", windows))
    return reduce("min", where(won, along(windows, 2, int32), windows.shape[2]), (2,))


def max_pool_gradient(
    gs: Node | Sequence[Node],
    results: Node | Sequence[Node],
    x: Node,
    *given: Any,
    return_indices: bool = False,
):
    """The gradient of max_pool, which goes to the first largest element of each window.

    With return_indices there are two results, and so two gradients.
    """
    kernel, stride, padding, dilation, *_ = given
    g, y = (v if isinstance(v, Node) else v[0] for v in (gs, results))
    windows = unfold("max_pool", x, kernel, padding, stride, dilation, identity_of("max", x.dtype))
    place = first_of_largest(windows, y)
    if tuple(kernel) == tuple(stride) and max(dilation) == 1:
        here = elementwise("eq", along(windows, 2, int32), unsqueeze(place, 2))
        shared = where(here, expand(unsqueeze(g, 2), windows.shape), 0.0)
        return (tiles(shared, x, kernel, padding),)
    how = (x, kernel, stride, padding, dilation)
    wide, far = around(g, *how, 0.0), around(place, *how, -1)

    def share(k: int, cut: Cut) -> Node:
        return where(elementwise("eq", cut(far), k), cut(wide), 0.0)

    return (fold_windows(g, *how, share),)


@op(gradient=max_pool_gradient)
def max_pool(
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int],
    return_indices: bool = False,
) -> Node | tuple[Node, Node]:
    """The maximum of each window of x (n, c, ...), and on request its index in the plane.

    Shapes: x (b, c, *s) -> (b, c, *p)

    >>> max_pool(tensor([[[1.0, 4.0, 2.0, 3.0]]]), (2,), (2,), ((0, 0),), (1,))
    Tensor([[[4., 3.]]])
    """
    fill = identity_of("max", x.dtype)
    windows = unfold("max_pool", x, kernel, padding, stride, dilation, fill)
    values = extreme("max", windows, 2, False)
    if not return_indices:
        return values
    place = cast(first_of_largest(windows, values), int64)
    return values, plane_position(x, place, kernel, stride, padding, dilation)


def plane_position(
    x: Node,
    place: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int],
) -> Node:
    """A position in a window as a position in the flattened plane."""
    flat, inner = None, prod(kernel)
    for k, size in enumerate(kernel):
        inner //= size
        step = elementwise("remainder", elementwise("floor_divide", place, inner), size)
        start = along(place, 2 + k) * stride[k] - padding[k][0]
        here = start + step * dilation[k]
        flat = here if flat is None else flat * x.shape[2 + k] + here
    assert flat is not None, "a window has axes"
    return flat


def max_pool_over(count: int) -> Op:
    """Create max_pool1d, max_pool2d or max_pool3d, by the number of axes."""
    name = f"max_pool{count}d"

    def function(
        x: Node,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        dilation: Numbers = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Node | tuple[Node, Node]:
        x, alone, kernel, steps = pooling_operands(name, count, x, kernel_size, stride)
        gaps = repeated(name, dilation, count, "dilation", 1)
        around = padding_of(name, x, kernel, steps, padding, gaps, ceil_mode)
        y = max_pool(x, kernel, steps, around, gaps, return_indices)
        if not alone:
            return y
        if isinstance(y, Node):
            return reshape(y, y.shape[1:])
        values, places = y
        return reshape(values, values.shape[1:]), reshape(places, places.shape[1:])

    function.__name__ = name
    function.__doc__ = f"""The largest of every window over the last {count} axes.

    Shapes: x (b, c, *s) -> (b, c, *p); k = kernel_size; step = stride or k;
    p = (s + padding * 2 - dilation * (k - 1) - 1 + ceil_mode * (step - 1)) // step + 1

    >>> {name}(ones((1, 2{", 7" * count})), 3, stride=2).shape
    Size([1, 2{", 3" * count}])
    """
    return op(function, inline=True, functional=True)


max_pool1d, max_pool2d, max_pool3d = map(max_pool_over, (1, 2, 3))

# mean


def avg_pool_gradient(g: Node, y: Node, x: Node, *given: Any, divisor: int | None = None) -> Node:
    """The gradient of avg_pool: each element gets its share of its windows' gradients."""
    kernel, stride, padding, counted, *more = given
    divisor = more[0] if more else divisor
    g, ones = cast(g, accumulator(x.dtype)), (1,) * len(kernel)
    parts = elements(g, x, kernel, stride, padding, counted) if divisor is None else float(divisor)
    shares = g / parts
    if tuple(kernel) == tuple(stride):
        shape = (*x.shape[:2], prod(kernel), *g.shape[2:])
        return cast(tiles(expand(unsqueeze(shares, 2), shape), x, kernel, padding), x.dtype)
    how = (x, kernel, stride, padding, ones)
    wide = around(shares, *how, 0.0)
    return cast(fold_windows(shares, *how, lambda k, cut: cut(wide)), x.dtype)


@op(gradient=avg_pool_gradient)
def avg_pool(
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    counted: Pairs,
    divisor: int | None = None,
) -> Node:
    """The mean of each window of x (n, c, ...); `counted` is the padding included in means.

    Shapes: x (b, c, *s) -> (b, c, *p)

    >>> avg_pool(tensor([[[1.0, 3.0, 5.0, 7.0]]]), (2,), (2,), ((0, 0),), ((0, 0),))
    Tensor([[[2., 6.]]])
    """
    floats_only("avg_pool", x)
    ones = (1,) * len(kernel)
    windows = unfold("avg_pool", x, kernel, padding, stride, ones, 0.0)
    total = reduce("add", windows, (2,), accumulator(x.dtype))
    if divisor is not None:
        return cast(total / float(divisor), x.dtype)
    return cast(total / elements(total, x, kernel, stride, padding, counted), x.dtype)


def elements(
    y: Node, x: Node, kernel: Sequence[int], stride: Sequence[int], padding: Pairs, counted: Pairs
) -> Node | float:
    """The number of elements in each window: one number, or one per place along some axes.

    Along an axis it first grows, then falls: it is constant if the ends and the second agree.
    """
    number: Node | float = 1.0
    for k, size in enumerate(kernel):
        low, high = -counted[k][0], x.shape[2 + k] + counted[k][1]
        last = y.shape[2 + k] - 1
        starts = [i * stride[k] - padding[k][0] for i in (0, min(last, 1), last)]
        found = {min(s + size, high) - max(s, low) for s in starts}
        if len(found) == 1:
            number = number * float(found.pop())
            continue
        start = along(y, 2 + k) * stride[k] - padding[k][0]
        inside = elementwise("minimum", start + size, high) - elementwise("maximum", start, low)
        number = cast(inside, y.dtype) * number
    return number


def avg_pool_over(count: int) -> Op:
    """Create avg_pool1d, avg_pool2d or avg_pool3d, by the number of axes."""
    name = f"avg_pool{count}d"

    def function(
        x: Node,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        padding: Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Node:
        if divisor_override == 0:
            raise ArgumentError(f"{name}: divisor_override must not be 0.")
        x, alone, kernel, steps = pooling_operands(name, count, x, kernel_size, stride)
        around = padding_of(name, x, kernel, steps, padding, (1,) * count, ceil_mode)
        counted = tuple((low, low) if count_include_pad else (0, 0) for low, _ in around)
        y = avg_pool(x, kernel, steps, around, counted, divisor_override)
        return reshape(y, y.shape[1:]) if alone else y

    function.__name__ = name
    function.__doc__ = f"""The mean of every window over the last {count} axes.

    Shapes: x (b, c, *s) -> (b, c, *p); k = kernel_size; step = stride or k;
    p = (s + padding * 2 - k + ceil_mode * (step - 1)) // step + 1

    >>> {name}(ones((1, 2{", 7" * count})), 3, stride=2).shape
    Size([1, 2{", 3" * count}])
    >>> {name}(ones((1, 2{", 7" * count})), 3, divisor_override=0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: {name}: divisor_override must not be 0.
    """
    return op(function, inline=True, functional=True)


avg_pool1d, avg_pool2d, avg_pool3d = map(avg_pool_over, (1, 2, 3))


def lp_pool_over(count: int) -> Op:
    """Create lp_pool1d, lp_pool2d or lp_pool3d, by the number of axes."""
    name, mean = f"lp_pool{count}d", (avg_pool1d, avg_pool2d, avg_pool3d)[count - 1]

    def function(
        x: Node,
        norm_type: float,
        kernel_size: Numbers,
        stride: Numbers | None = None,
        ceil_mode: bool = False,
    ) -> Node:
        whole = prod(repeated(name, kernel_size, count, "kernel_size", 1))
        powers = mean(pow(x, float(norm_type)), kernel_size, stride, 0, ceil_mode)
        kept = elementwise("sign", powers) * relu(elementwise("abs", powers))
        return pow(kept * float(whole), 1.0 / norm_type)

    function.__name__ = name
    function.__doc__ = f"""The norm of every window over the last {count} axes.

    Shapes: x (b, c, *s) -> (b, c, *p); k = kernel_size; step = stride or k;
    p = (s - k + ceil_mode * (step - 1)) // step + 1

    >>> {name}(ones((1, 2{", 7" * count})), 2, 3, stride=2).shape
    Size([1, 2{", 3" * count}])
    """
    return op(function, inline=True, functional=True)


lp_pool1d, lp_pool2d, lp_pool3d = map(lp_pool_over, (1, 2, 3))


# the way back


def unpooled_gradient(
    g: Node, y: Node, x: Node, index: Node, *, size: int
) -> tuple[Node, Node | None]:
    """The gradient at each element's position, also if another one overwrote it, as in PyTorch."""
    return take_along_axis(g, index, 1), None


@internal(gradient=unpooled_gradient)
def unpooled(x: Node, index: Node, *, size: int) -> Node:
    """Rows of zeros with elements put at their positions; of several at one, the last counts."""
    return scatter(zeros(x.arena, (x.shape[0], size), x.dtype), 1, index, x)
