"""Adaptive pooling: the mean or the maximum of bins that divide the last axes."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.dtypes import accumulator, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floats_only
from gnomon.ops.pooling import largest
from gnomon.ops.primitives import expand, identity_of, reduce, reshape, unsqueeze
from gnomon.ops.reductions import along, pick, position
from gnomon.ops.registry import Op, op
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import permute


def bins(x: Node, axis: int, count: int) -> tuple[Node, Node]:
    """A mask (bins, elements) of each bin's elements, and the bins' sizes (count,)."""
    size = x.shape[axis]
    number = x.arena.node("iota", (), size=count, dtype=int64)
    start = elementwise("floor_divide", number * size, count)
    end = elementwise("floor_divide", number * size + (size + count - 1), count)
    place = reshape(x.arena.node("iota", (), size=size, dtype=int64), (1, size))
    start_, end_ = unsqueeze(start, 1), unsqueeze(end, 1)
    inside = elementwise("and", elementwise("ge", place, start_), elementwise("lt", place, end_))
    return inside, end - start


def sorted_into(x: Node, axis: int, count: int, fill: float) -> tuple[Node, Node]:
    """An axis as (bins, elements), filled outside of each bin; and the bins' sizes."""
    inside, lengths = bins(x, axis, count)
    rest = (1,) * (x.rank - axis - 1)
    mask = reshape(inside, (*inside.shape, *rest))
    shape = (*x.shape[:axis], count, *x.shape[axis:])
    return where(mask, expand(unsqueeze(x, axis), shape), fill), reshape(lengths, (count, *rest))


def check_sizes(name: str, x: Node, sizes: Sequence[int]) -> None:
    """Refuse more sizes than x has axes."""
    if len(sizes) > x.rank:
        raise ArgumentError(f"{name}: sizes are {tuple(sizes)}: got {x.shape}, with fewer axes.")


@op
def adaptive_avg_pool(x: Node, sizes: Sequence[int]) -> Node:
    """The mean of each of the bins that divide the last axes into the given numbers of parts.

    Shapes: x (*a, *s) -> (*a, *sizes)

    >>> adaptive_avg_pool(tensor([1.0, 2.0, 3.0, 4.0]), (2,))
    Tensor([1.5, 3.5])
    """
    floats_only("adaptive_avg_pool", x)
    check_sizes("adaptive_avg_pool", x, sizes)
    kind, first = x.dtype, x.rank - len(sizes)
    x = cast(x, accumulator(kind))
    for k, count in enumerate(sizes):
        axis, size = first + k, x.shape[first + k]
        if count == size:
            continue
        if size % count == 0:
            shape = (*x.shape[:axis], count, size // count, *x.shape[axis + 1 :])
            x = reduce("add", reshape(x, shape), (axis + 1,)) / (size // count)
        else:
            parts, lengths = sorted_into(x, axis, count, 0.0)
            x = reduce("add", parts, (axis + 1,)) / cast(lengths, x.dtype)
    return cast(x, kind)


@op
def adaptive_max_pool(
    x: Node, sizes: Sequence[int], return_indices: bool = False
) -> Node | tuple[Node, Node]:
    """The maximum of each bin of adaptive_avg_pool, and on request the index of its first place.

    Shapes: x (*a, *s) -> (*a, *sizes)

    >>> adaptive_max_pool(tensor([1.0, 2.0, 3.0, 4.0]), (2,))
    Tensor([2., 4.])
    """
    check_sizes("adaptive_max_pool", x, sizes)
    first, place, stride = x.rank - len(sizes), None, 1
    # the last axis first: of equals the first is found as elements lie in memory
    for axis in range(x.rank - 1, first - 1, -1):
        parts = rows_of_bins(x, axis, sizes[axis - first], identity_of("max", x.dtype))
        if return_indices:
            found, count = position("max", parts, x.rank, False), sizes[axis - first]
            # where all are the lowest, the fill of other bins is no smaller
            start = elementwise("floor_divide", along(found, axis) * x.shape[axis], count)
            found = elementwise("maximum", found, start)
            flat = found * stride
            if place is not None:
                inner = rows_of_bins(place, axis, count, 0)
                flat = flat + pick(inner, found, x.rank)
            place, stride = flat, stride * x.shape[axis]
        x = largest(parts)
    return x if place is None else (x, place)


def rows_of_bins(x: Node, axis: int, count: int, fill: float) -> Node:
    """An axis as bins, with their elements as the last axis."""
    parts, _ = sorted_into(x, axis, count, fill)
    return permute(parts, (*(k for k in range(parts.rank) if k != axis + 1), axis + 1))


def adaptive_over(count: int, kind: Op, word: str) -> Op:
    """Create adaptive_avg_pool1d or a relative of it, with its documentation."""
    name = f"adaptive_{word}_pool{count}d"

    def bins_of(x: Node, output_size: int | Sequence[int | None] | None) -> tuple[int, ...]:
        if x.rank <= count:
            raise ShapeError(f"{name}: x must have more than {count} axes: got {x.shape}.")
        given = (output_size,) if output_size is None else output_size
        asked = (given,) * count if isinstance(given, int) else tuple(given)
        asked = asked * count if len(asked) == 1 else asked
        if len(asked) != count or any(n is not None and n < 1 for n in asked):
            raise ArgumentError(
                f"{name}: output_size is {count} numbers of at least 1: got {output_size!r}."
            )
        own = x.shape[x.rank - count :]
        return tuple(n if a is None else a for a, n in zip(asked, own, strict=True))

    def mean(x: Node, output_size: int | Sequence[int | None]) -> Node:
        return kind(x, bins_of(x, output_size))

    def most(
        x: Node, output_size: int | Sequence[int | None], return_indices: bool = False
    ) -> Node | tuple[Node, Node]:
        return kind(x, bins_of(x, output_size), return_indices)

    function = mean if word == "avg" else most
    function.__name__ = name
    function.__doc__ = f"""{word} over bins that cut each of the last {count} axes evenly.

    Shapes: x (b, c, *s) -> (b, c, *output_size)

    >>> {name}(ones((1, 2{", 7" * count})), 3).shape
    Size([1, 2{", 3" * count}])
    >>> {name}(ones((1, 2{", 7" * count})), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: {name}: output_size is {count} numbers of at least 1: got 0.
    """
    return op(function, inline=True, functional=True)


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    adaptive_over(n, adaptive_avg_pool, "avg") for n in (1, 2, 3)
)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    adaptive_over(n, adaptive_max_pool, "max") for n in (1, 2, 3)
)
