"""Running folds along an axis: sums, products, and extremes with their positions.

Operations without a scan primitive (gradients of products, logcumsumexp) double their reach log2(n)
times.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from gnomon.dtypes import accumulator, bool_, dtype_of, int64
from gnomon.errors import ArgumentError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.activations import logaddexp
from gnomon.ops.arguments import floating, one_axis, result_of_sum, standard_sum, wide
from gnomon.ops.joining import cat
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import reduce, reshape
from gnomon.ops.registry import op
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, slice_

LETTERS = "abcdefghijklmnopqrstuvwxy"
"""Letters of axes; z is reserved for an axis that is looked up."""


@op(inline=True, reference=lambda x, axis: np.cumsum(x, axis), autocast="wide", complex="parts")
def cumsum(x: Node, axis: int, *, dtype: object = None) -> Node:
    """The cumulative sum along an axis.

    Shapes: x (...) -> (...)

    >>> cumsum(tensor([1, 2, 3]), 0)
    Tensor([1, 3, 6])
    """
    return accumulated("cumsum", "add", x, axis, dtype)


def accumulated(name: str, monoid: str, x: Node, axis: int, dtype: object) -> Node:
    """A running fold in the dtype asked for, else in that of a sum."""
    axis = one_axis(name, axis, x.rank)
    kind = result_of_sum(x, None if dtype is None else dtype_of(dtype))
    if not x.dtype.is_floating_point or kind.bits > x.dtype.bits:
        x = cast(x, kind)
    return scan(monoid, x, axis, kind) if x.rank else cast(x, kind)


def np_cumulative(
    fold: Any, start: Any, x: np.ndarray, axis: Any = None, *, include_initial: bool = False
) -> np.ndarray:
    """Compute a running fold with numpy, preceded by its start if asked for."""
    axis = 0 if axis is None else axis
    y = fold(x, axis)
    first = np.full_like(y.take([0], axis), start)
    return np.concatenate([first, y], axis) if include_initial else y


@op(
    inline=True,
    reference=partial(np_cumulative, np.cumsum, 0),
)
def cumulative_sum(
    x: Node, axis: int | None = None, *, dtype: object = None, include_initial: bool = False
) -> Node:
    """The cumulative sum along an axis; include_initial puts a 0 first.

    Shapes: x (*a, n, *b) -> (*a, n + include_initial, *b)

    >>> cumulative_sum(tensor([1, 2, 3]), include_initial=True)
    Tensor([0, 1, 3, 6])
    """
    axis = the_axis("cumulative_sum", axis, x)
    y = cumsum(x, axis, dtype=standard_sum(x.dtype, dtype))
    return prepend(0, y, axis) if include_initial else y


def the_axis(name: str, axis: int | None, x: Node) -> int:
    """The axis of a running fold, which may be left out for a vector."""
    if axis is None and x.rank != 1:
        raise ArgumentError(f"{name}: x {x.shape} has several axes. Name one, as in axis=-1.")
    return one_axis(name, 0 if axis is None else axis, x.rank)


def prepend(start: int, x: Node, axis: int) -> Node:
    """x with one more constant at the beginning of an axis."""
    low = tuple(int(k == axis) for k in range(x.rank))
    return pad(x, low, (0,) * x.rank, start)


def cumprod_gradient(g: Node, y: Node, x: Node, axis: int, **_: Any) -> Node:
    """The gradient of cumprod, by doubling distances; zeros are no problem.

    The sum obeys s[k] = g[k] + x[k + 1] · s[k + 1]; pairs (factor, sum) are joined at distances
    1, 2, 4, ...
    """
    axis = one_axis("cumprod", axis, x.rank)
    size, kind, x = x.shape[axis], x.dtype, cast(x, y.dtype)
    total, factor, reach = g, shifted(x, axis, -1, 0.0), 1
    while reach < size:
        total = total + factor * shifted(total, axis, -reach, 0.0)
        factor = factor * shifted(factor, axis, -reach, 0.0)
        reach *= 2
    return cast(shifted(y, axis, 1, 1.0) * total, kind)


def shifted(x: Node, axis: int, by: int, fill: float) -> Node:
    """x moved along an axis, with a constant filling the gap."""
    low = tuple(max(by, 0) if k == axis else 0 for k in range(x.rank))
    high = tuple(max(-by, 0) if k == axis else 0 for k in range(x.rank))
    start = max(-by, 0)
    bounds = tuple((start, start + n, 1) if k == axis else (0, n, 1) for k, n in enumerate(x.shape))
    return slice_(pad(x, low, high, fill), bounds)


@op(reference=np.cumprod, gradient=cumprod_gradient, complex="formula")
def cumprod(x: Node, axis: int, *, dtype: object = None) -> Node:
    """The cumulative product along an axis.

    Shapes: x (...) -> (...)

    >>> cumprod(tensor([1, 2, 3, 4]), 0)
    Tensor([ 1,  2,  6, 24])
    """
    return accumulated("cumprod", "mul", x, axis, dtype)


@op(
    inline=True,
    reference=partial(np_cumulative, np.cumprod, 1),
)
def cumulative_prod(
    x: Node, axis: int | None = None, *, dtype: object = None, include_initial: bool = False
) -> Node:
    """The cumulative product along an axis; include_initial puts a 1 first.

    Shapes: x (*a, n, *b) -> (*a, n + include_initial, *b)

    >>> cumulative_prod(tensor([2, 3]), include_initial=True)
    Tensor([1, 2, 6])
    """
    axis = the_axis("cumulative_prod", axis, x)
    y = cumprod(x, axis, dtype=standard_sum(x.dtype, dtype))
    return prepend(1, y, axis) if include_initial else y


def running(name: str, monoid: str, x: Node, axis: int) -> tuple[Node, Node]:
    """The best element so far and its position, the latest of equal ones."""
    axis = one_axis(name, axis, x.rank)
    if not x.rank:
        return x, elementwise("mul", cast(elementwise("ne", x, x), int64), 0)
    found = scan(monoid, cast(x, int64) if x.dtype is bool_ else x, axis)
    names = LETTERS[: x.rank]
    table = f"{names[:axis]}z{names[axis + 1 :]}"
    return gather(f"{table},{names}->{names}", x, found), found


@op(reference=lambda x, axis: (np.maximum.accumulate(x, axis),), pair=True)
def cummax(x: Node, axis: int) -> tuple[Node, Node]:
    """The cumulative maximum, and its index: the last one of equal elements.

    Shapes: x (...) -> (...), (...)

    >>> cummax(tensor([1, 3, 2, 3]), 0)
    Values(values=Tensor([1, 3, 3, 3]), indices=Tensor([0, 1, 1, 3]))
    """
    return running("cummax", "argmax", x, axis)


@op(reference=lambda x, axis: (np.minimum.accumulate(x, axis),), pair=True)
def cummin(x: Node, axis: int) -> tuple[Node, Node]:
    """The cumulative minimum, and its index: the last one of equal elements.

    Shapes: x (...) -> (...), (...)

    >>> cummin(tensor([3, 1, 2]), 0)
    Values(values=Tensor([3, 1, 1]), indices=Tensor([0, 1, 1]))
    """
    return running("cummin", "argmin", x, axis)


@op(reference=lambda x, axis: np.logaddexp.accumulate(x, axis))
def logcumsumexp(x: Node, axis: int) -> Node:
    """The logarithm of the cumulative sum of exp(x), without overflow.

    Shapes: x (...) -> (...)

    >>> logcumsumexp(tensor([0.0, 0.0, 0.0]), 0)
    Tensor([0.    , 0.6931, 1.0986])
    """
    axis, kind = one_axis("logcumsumexp", axis, x.rank), floating(x).dtype
    total, reach = wide(x), 1
    while x.rank and reach < x.shape[axis]:
        total = logaddexp(total, shifted(total, axis, reach, float("-inf")))
        reach *= 2
    return cast(total, kind)


def np_diff(x: np.ndarray, n: int = 1, axis: Any = -1, prepend: Any = None, append: Any = None):
    """Compute differences with numpy."""
    return np.diff(
        np.concatenate([v for v in (prepend, x, append) if v is not None], axis), n, axis
    )


@op(inline=True, reference=np_diff, complex="formula")
def diff(
    x: Node,
    n: int = 1,
    axis: int = -1,
    prepend: Node | None = None,
    append: Node | None = None,
) -> Node:
    """The n-th difference along an axis; prepend and append are joined to x first.

    For booleans, whether neighbours differ.

    Shapes: x (*a, t, *b), prepend (*a, p, *b), append (*a, q, *b) -> (*a, p + t + q - n, *b) if
    prepend is not None; x (*a, t, *b) -> (*a, t - n, *b) if prepend is None

    >>> diff(tensor([1, 4, 9, 16]))
    Tensor([3, 5, 7])
    >>> diff(tensor([1, 4, 9, 16]), n=2)
    Tensor([2, 2])
    >>> diff(tensor([1, 4]), n=-1)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: diff: n must be 0 or more: got -1.
    """
    axis = one_axis("diff", axis, x.rank)
    if n and (prepend is not None or append is not None):
        x = cat([v for v in (prepend, x, append) if v is not None], axis)
    if n < 0:
        raise ArgumentError(f"diff: n must be 0 or more: got {n}.")
    for _ in range(min(n, x.shape[axis])):  # then nothing is left
        ends = [(0, m, 1) for m in x.shape]
        later, earlier = list(ends), list(ends)
        last = max(x.shape[axis] - 1, 0)
        later[axis], earlier[axis] = (min(1, last), x.shape[axis], 1), (0, last, 1)
        row = "ne" if x.dtype is bool_ else "sub"
        x = elementwise(row, slice_(x, tuple(later)), slice_(x, tuple(earlier)))
    return x


@op(
    reference=lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis),
    aliases=("trapz",),
    complex="formula",
)
def trapezoid(y: Node, x: Node | None = None, *, dx: float = 1.0, axis: int = -1) -> Node:
    """The integral of y along an axis by the trapezoidal rule, at places x or dx apart.

    Shapes: y (*a, n, *b), x (n) -> (*a, *b)

    sum((y[i] + y[i + 1]) / 2 · (x[i + 1] − x[i])).

    >>> trapezoid(tensor([0.0, 1.0, 4.0]))
    Tensor(3.)
    """
    axis = one_axis("trapezoid", axis, y.rank)
    size = y.shape[axis]
    whole = [(0, n, 1) for n in y.shape]
    ends = [
        slice_(y, (*whole[:axis], b, *whole[axis + 1 :])) for b in ((1, size, 1), (0, size - 1, 1))
    ]
    middle = (ends[0] + ends[1]) * 0.5
    if x is not None and x.rank == 1:
        x = reshape(x, tuple(size if k == axis else 1 for k in range(y.rank)))
    widths = dx if x is None else diff(x, 1, axis)
    return cast(reduce("add", middle * widths, (axis,), accumulator(middle.dtype)), middle.dtype)
