"""Windows folded: largest, mean, adaptive sizes; and patches taken out and put back.

A window's largest element is found by position, so its gradient goes to the first of equals.
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
from gnomon.ops.arguments import floats_only, repeated
from gnomon.ops.patches import around, spread, taken, tiles
from gnomon.ops.primitives import expand, identity_of, reduce, reshape, unsqueeze
from gnomon.ops.reductions import along, extreme, position
from gnomon.ops.registry import Op, op
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import permute
from gnomon.ops.windows import Cut, Pairs

Numbers = int | Sequence[int]


def largest_gradient(g: Node, y: Node, x: Node) -> Node:
    """The gradient stands where the largest stands first."""
    last = x.rank - 1
    here = elementwise("eq", along(x, last), position("max", x, last, True))
    return where(here, expand(unsqueeze(g, last), x.shape), 0.0)


@op(reference=lambda x: np.max(x, -1), gradient=largest_gradient)
def largest(x: Node) -> Node:
    """The largest of every row; the first of equals has the gradient.

    Shapes: x (...) -> (?)
    """
    return extreme("max", x, -1, False)


# geometry


def overhang(size: int, pad: int, kernel: int, step: int, gap: int, ceil_mode: bool) -> int:
    """How far windows reach past the padding at the end, so that the last one is not lost."""
    reach = (kernel - 1) * gap + 1
    room = size + 2 * pad - reach
    steps = -(-room // step) if ceil_mode else room // step
    if ceil_mode and steps * step >= size + pad:
        # a window must start inside x or its padding in front
        steps -= 1
    return max(steps * step + reach - (size + 2 * pad), 0)


def settled(name: str, count: int, x: Node, kernel_size: Numbers, stride: Numbers | None):
    """x with samples, whether it had none, and kernel and stride per axis."""
    if x.rank not in (count + 1, count + 2):
        raise ShapeError(
            f"{name}: x must be (n, c, ...) with {count} more axes, or without n: got {x.shape}."
        )
    alone = x.rank == count + 1
    kernel = repeated(name, kernel_size, count)
    steps = kernel if stride is None or stride == () else repeated(name, stride, count)
    return (reshape(x, (1, *x.shape)) if alone else x), alone, kernel, steps


def ends(
    name: str,
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Numbers,
    dilation: Sequence[int],
    ceil_mode: bool,
) -> Pairs:
    """Padding before and after each axis."""
    pads = repeated(name, padding, len(kernel))
    if any(2 * p > k for p, k in zip(pads, kernel, strict=True)):
        raise ArgumentError(
            f"{name}: padding is at most half the kernel: got {padding!r} for {tuple(kernel)}."
        )
    rows = zip(x.shape[2:], pads, kernel, stride, dilation, strict=True)
    return tuple((p, p + overhang(n, p, k, s, d, ceil_mode)) for n, p, k, s, d in rows)


# largest


def first_of_largest(windows: Node, y: Node) -> Node:
    """Which element of each window is its largest, the first of equals."""
    won = elementwise("eq", windows, unsqueeze(y, 2))
    if y.dtype.is_floating_point:
        won = elementwise("or", won, elementwise("isnan", windows))
    return reduce("min", where(won, along(windows, 2, int32), windows.shape[2]), (2,))


def max_pool_gradient(
    gs: Sequence[Node], results: Sequence[Node], x: Node, *given: Any, return_indices: bool = False
):
    """The gradient of each window stands where its largest stands first; `given` as max_pool's."""
    kernel, stride, padding, dilation, *more = given
    g, y = (gs[0], results[0]) if return_indices or any(more) else (gs, results)
    windows = taken("max_pool", x, kernel, padding, stride, dilation, identity_of("max", x.dtype))
    place = first_of_largest(windows, y)
    if tuple(kernel) == tuple(stride) and max(dilation) == 1:
        here = elementwise("eq", along(windows, 2, int32), unsqueeze(place, 2))
        shared = where(here, expand(unsqueeze(g, 2), windows.shape), 0.0)
        return (tiles(shared, x, kernel, padding),)
    how = (x, kernel, stride, padding, dilation)
    wide, far = around(g, *how, 0.0), around(place, *how, -1)

    def share(k: int, cut: Cut) -> Node:
        return where(elementwise("eq", cut(far), k), cut(wide), 0.0)

    return (spread(g, *how, share),)


@op(gradient=max_pool_gradient)
def max_pool(
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int],
    return_indices: bool = False,
) -> Node | tuple[Node, Node]:
    """The largest of every window of x (n, c, ...), and on request where in its plane it stands.

    Shapes: x (n, c, ...) -> (?)
    """
    fill = identity_of("max", x.dtype)
    windows = taken("max_pool", x, kernel, padding, stride, dilation, fill)
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
    """A place within a window as a place within the plane laid flat."""
    flat, inner = None, prod(kernel)
    for k, size in enumerate(kernel):
        inner //= size
        step = elementwise("remainder", elementwise("floor_divide", place, inner), size)
        start = along(place, 2 + k) * stride[k] - padding[k][0]
        here = start + step * dilation[k]
        flat = here if flat is None else flat * x.shape[2 + k] + here
    return flat


def max_pool_over(count: int) -> Op:
    """max_pool1d, max_pool2d or max_pool3d."""
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
        x, alone, kernel, steps = settled(name, count, x, kernel_size, stride)
        gaps = repeated(name, dilation, count)
        around = ends(name, x, kernel, steps, padding, gaps, ceil_mode)
        y = max_pool(x, kernel, steps, around, gaps, return_indices)
        if not alone:
            return y
        parts = tuple(reshape(v, v.shape[1:]) for v in (y if return_indices else (y,)))
        return parts if return_indices else parts[0]

    function.__name__ = name
    function.__doc__ = f"""The largest of every window over the last {count} axes.

    Shapes: x (...) -> (?)
    """
    function.__module__ = __name__
    return op(function, inline=True)


max_pool1d, max_pool2d, max_pool3d = map(max_pool_over, (1, 2, 3))

# mean


def avg_pool_gradient(g: Node, y: Node, x: Node, *given: Any, divisor: int | None = None) -> Node:
    """Every element collects its share of the gradients of its windows; `given` as avg_pool's."""
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
    return cast(spread(shares, *how, lambda k, cut: cut(wide)), x.dtype)


@op(gradient=avg_pool_gradient)
def avg_pool(
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    counted: Pairs,
    divisor: int | None = None,
) -> Node:
    """The mean of every window of x (n, c, ...); `counted` is the padding that counts as elements.

    Shapes: x (n, c, ...) -> (?)
    """
    floats_only("avg_pool", x)
    ones = (1,) * len(kernel)
    windows = taken("avg_pool", x, kernel, padding, stride, ones, 0.0)
    total = reduce("add", windows, (2,), accumulator(x.dtype))
    if divisor is not None:
        return cast(total / float(divisor), x.dtype)
    return cast(total / elements(total, x, kernel, stride, padding, counted), x.dtype)


def elements(
    y: Node, x: Node, kernel: Sequence[int], stride: Sequence[int], padding: Pairs, counted: Pairs
) -> Node | float:
    """How many elements each window has: one number, or one per place along some axes."""
    number: Node | float = 1.0
    for k, size in enumerate(kernel):
        low, high = -counted[k][0], x.shape[2 + k] + counted[k][1]
        starts = [i * stride[k] - padding[k][0] for i in range(y.shape[2 + k])]
        found = {min(s + size, high) - max(s, low) for s in starts}
        if len(found) == 1:
            number = number * float(found.pop())
            continue
        start = along(y, 2 + k) * stride[k] - padding[k][0]
        inside = elementwise("minimum", start + size, high) - elementwise("maximum", start, low)
        number = cast(inside, y.dtype) * number
    return number


def avg_pool_over(count: int) -> Op:
    """avg_pool1d, avg_pool2d or avg_pool3d."""
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
        x, alone, kernel, steps = settled(name, count, x, kernel_size, stride)
        around = ends(name, x, kernel, steps, padding, (1,) * count, ceil_mode)
        counted = tuple((low, low) if count_include_pad else (0, 0) for low, _ in around)
        y = avg_pool(x, kernel, steps, around, counted, divisor_override)
        return reshape(y, y.shape[1:]) if alone else y

    function.__name__ = name
    function.__doc__ = f"""The mean of every window over the last {count} axes.

    Shapes: x (...) -> (?)
    """
    function.__module__ = __name__
    return op(function, inline=True)


avg_pool1d, avg_pool2d, avg_pool3d = map(avg_pool_over, (1, 2, 3))

# adaptive


def bins(x: Node, axis: int, count: int) -> tuple[Node, Node]:
    """Per bin and element whether the one holds the other, and the bins' sizes (count,)."""
    size = x.shape[axis]
    number = x.arena.node("iota", (), size=count, dtype=int64)
    start = elementwise("floor_divide", number * size, count)
    end = elementwise("floor_divide", number * size + (size + count - 1), count)
    place = reshape(x.arena.node("iota", (), size=size, dtype=int64), (1, size))
    start_, end_ = unsqueeze(start, 1), unsqueeze(end, 1)
    inside = elementwise("and", elementwise("ge", place, start_), elementwise("lt", place, end_))
    return inside, end - start


def sorted_into(x: Node, axis: int, count: int, fill: float) -> tuple[Node, Node]:
    """An axis as (bins, elements), a fill for what other bins hold; and the bins' sizes."""
    inside, lengths = bins(x, axis, count)
    rest = (1,) * (x.rank - axis - 1)
    mask = reshape(inside, (*inside.shape, *rest))
    shape = (*x.shape[:axis], count, *x.shape[axis:])
    return where(mask, expand(unsqueeze(x, axis), shape), fill), reshape(lengths, (count, *rest))


@op
def adaptive_avg_pool(x: Node, sizes: Sequence[int]) -> Node:
    """The mean of bins that cut the last axes into so many parts.

    Shapes: x (...) -> (?)
    """
    floats_only("adaptive_avg_pool", x)
    kind, first = x.dtype, x.rank - len(sizes)
    x = cast(x, accumulator(kind))
    for k, count in enumerate(sizes):
        axis, size = first + k, x.shape[first + k]
        if count == size:
            continue
        if size % count == 0:
            shape = (*x.shape[:axis], count, size // count, *x.shape[axis + 1 :])
            x = reduce("add", reshape(x, shape), (axis + 1,)) / float(size // count)
        else:
            parts, lengths = sorted_into(x, axis, count, 0.0)
            x = reduce("add", parts, (axis + 1,)) / cast(lengths, x.dtype)
    return cast(x, kind)


@op
def adaptive_max_pool(x: Node, sizes: Sequence[int]) -> Node:
    """The largest of bins that cut the last axes into so many parts.

    Shapes: x (...) -> (?)
    """
    first = x.rank - len(sizes)
    for k, count in enumerate(sizes):
        parts, _ = sorted_into(x, first + k, count, identity_of("max", x.dtype))
        rows = (*(m for m in range(parts.rank) if m != first + k + 1), first + k + 1)
        x = largest(permute(parts, rows))
    return x


def adaptive_over(count: int, kind: Op, word: str) -> Op:
    """adaptive_avg_pool1d and its relatives."""
    name = f"adaptive_{word}_pool{count}d"

    def function(x: Node, output_size: int | Sequence[int | None]) -> Node:
        if x.rank <= count:
            raise ShapeError(f"{name}: x must have more than {count} axes: got {x.shape}.")
        given = (output_size,) if output_size is None else output_size
        asked = (given,) * count if isinstance(given, int) else tuple(given)
        asked = asked * count if len(asked) == 1 else asked
        own = x.shape[x.rank - count :]
        return kind(x, tuple(n if a is None else a for a, n in zip(asked, own, strict=True)))

    function.__name__ = name
    function.__doc__ = f"""{word} over bins that cut each of the last {count} axes evenly.

    Shapes: x (...) -> (?)
    """
    function.__module__ = __name__
    return op(function, inline=True)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    adaptive_over(n, adaptive_avg_pool, "avg") for n in (1, 2, 3)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    adaptive_over(n, adaptive_max_pool, "max") for n in (1, 2, 3)
)
