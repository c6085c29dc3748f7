"""Order along an axis: sort, topk, medians, quantiles, positions in sorted rows.

All compute indices by one stable sort, then fetch values by index; NaN counts as largest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import int32, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, constant, elementwise
from gnomon.ops.arguments import filling_of, flag, floats_only, one_axis
from gnomon.ops.elementwise import Operand
from gnomon.ops.indexing import rows
from gnomon.ops.joining import stack
from gnomon.ops.lookup_primitives import gather, sort_positions
from gnomon.ops.primitives import expand, reshape, unsqueeze
from gnomon.ops.reductions import fold, pick, position, refuse_empty, to_equals, zero_of
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_parts import part


def fetched(x: Node, positions: Node, axis: int) -> Node:
    """The elements of x at positions along an axis."""
    own = LETTERS[: x.rank]
    table = f"{own[:axis]}z{own[axis + 1 :]}"
    return gather(f"{table},{own}->{own}", x, positions)


def np_argsort(x: np.ndarray, axis: Any = -1, descending: bool = False, **_: Any) -> np.ndarray:
    """Compute a stable order with numpy."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    back = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - back, axis)


@op(inline=True, reference=np_argsort)
def argsort(x: Node, axis: int = -1, descending: bool = False, *, stable: bool = True) -> Node:
    """The indices that sort an axis; equal elements keep their order.

    Shapes: x (...) -> (...)

    >>> argsort(tensor([30, 10, 20]))
    Tensor([1, 2, 0])
    """
    axis = one_axis("argsort", axis, x.rank)
    flag("argsort", "descending", descending)
    return sort_positions(x, axis, descending) if x.rank else zero_of(x)


@op(
    reference=lambda x, axis=-1, descending=False, stable=True: (
        np.take_along_axis(x, np_argsort(x, axis, descending), axis),
        np_argsort(x, axis, descending),
    ),
    pair=True,
    values_alone=True,
)
def sort(
    x: Node, axis: int = -1, descending: bool = False, *, stable: bool = True
) -> tuple[Node, Node]:
    """Sort an axis, and return the indices too; equal elements keep their order.

    Shapes: x (...) -> (...), (...)

    >>> sort(tensor([30, 10, 20]), dim=0)
    Values(values=Tensor([10, 20, 30]), indices=Tensor([1, 2, 0]))
    """
    axis = one_axis("sort", axis, x.rank)
    flag("sort", "descending", descending)
    if not x.rank:
        return x, zero_of(x)
    found = sort_positions(x, axis, descending)
    return fetched(x, found, axis), found


@op(
    reference=lambda x, k, axis=-1, largest=True, sorted=True: (
        np.take_along_axis(x, np_argsort(x, axis, largest).take(range(k), axis), axis),
        np_argsort(x, axis, largest).take(range(k), axis),
    ),
    pair=True,
)
def topk(
    x: Node, k: int, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Node, Node]:
    """The k largest elements along an axis, in descending order, and their indices.

    Shapes: x (*a, n, *b) -> (*a, k, *b), (*a, k, *b)

    >>> values, indices = topk(tensor([1, 5, 3]), 2)
    >>> values, indices
    (Tensor([5, 3]), Tensor([1, 2]))
    >>> topk(tensor([1, 2]), 3)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: topk: axis 0 of x (2,) has no 3 elements.
    """
    axis = one_axis("topk", axis, x.rank)
    flag("topk", "largest", largest)
    if not x.rank:
        return x, zero_of(x)
    if not 0 <= k <= x.shape[axis]:
        raise ArgumentError(f"topk: axis {axis} of x {x.shape} has no {k} elements.")
    found = part(sort_positions(x, axis, largest), axis, 0, k)
    return fetched(x, found, axis), found


@op(
    reference=lambda x, k, axis=-1, keepdims=False: (
        np.sort(x, axis).take(k - 1, axis),
        np_argsort(x, axis).take(k - 1, axis),
    ),
    pair=True,
)
def kthvalue(x: Node, k: int, axis: int = -1, keepdims: bool = False) -> tuple[Node, Node]:
    """The k-th smallest element along an axis, counted from 1, and its index.

    >>> kthvalue(tensor([30, 10, 20]), 2)
    Values(values=Tensor(20), indices=Tensor(2))
    >>> kthvalue(tensor([30, 10]), 3)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: kthvalue: axis 0 of x (2,) has no 3-th element.
    """
    axis = one_axis("kthvalue", axis, x.rank)
    if not 1 <= k <= (x.shape[axis] if x.rank else 1):
        raise ArgumentError(f"kthvalue: axis {axis} of x {x.shape} has no {k}-th element.")
    if not x.rank:
        return x, zero_of(x)
    return at_rank(x, axis, part(sort_positions(x, axis), axis, k - 1, k), keepdims)


def at_rank(x: Node, axis: int, found: Node, keepdims: bool) -> tuple[Node, Node]:
    """One element per row, and its position; both have an axis of size 1 if `keepdims`."""
    lone = reshape(found, (*x.shape[:axis], *x.shape[axis + 1 :]))
    values = pick(x, lone, axis)
    return (unsqueeze(values, axis), found) if keepdims else (values, lone)


def to_all_of_one(g: Node, y: Node, x: Node, chosen: Node) -> tuple[Node, None]:
    """The gradient of an element, divided equally among all elements equal to it."""
    return to_equals(g, y, x), None


@internal(gradient=to_all_of_one)
def one_of(x: Node, chosen: Node) -> Node:
    """An element of x, whose gradient all elements equal to it share."""
    return chosen.arena.node("detach", (chosen,))


@op(inline=True, reference=lambda x: np.sort(x, None)[(x.size - 1) // 2])
def median(x: Node) -> Node:
    """The median of all elements, the lower of two; NaN if empty.

    Equal elements share the gradient.

    Shapes: x (...) -> ()

    >>> median(tensor([4, 1, 3, 2]))
    Tensor(2)
    """
    if not x.size and x.dtype.is_floating_point:
        return constant(x.arena, math.nan, x.dtype)
    return one_of(x, median_with_positions(reshape(x, (x.size,)), 0)[0])


@op(
    reference=lambda x, axis=-1, keepdims=False: (
        np.sort(x, axis).take((x.shape[axis] - 1) // 2, axis),
        np_argsort(x, axis).take((x.shape[axis] - 1) // 2, axis),
    ),
    pair_of=median,
)
def median_with_positions(x: Node, axis: int = -1, keepdims: bool = False) -> tuple[Node, Node]:
    """The median along an axis, the lower of two, and its index; NaN if a row has one.

    >>> median_with_positions(tensor([4, 1, 3, 2]))
    (Tensor(2), Tensor(3))
    """
    axis = one_axis("median", axis, x.rank)
    if not x.rank:
        return x, zero_of(x)
    size = x.shape[axis]
    refuse_empty("median", x, (axis,))
    order = sort_positions(x, axis)
    found = part(order, axis, (size - 1) // 2, (size - 1) // 2 + 1)
    if x.dtype.is_floating_point:
        broken = fold("or", elementwise("isnan", x), (axis,), True)
        found = where(broken, position("max", x, axis, True), found)
    return at_rank(x, axis, found, keepdims)


@op(pair=True)
def mode(x: Node, axis: int = -1, keepdims: bool = False) -> tuple[Node, Node]:
    """The most frequent element along an axis, the smallest of several, and its last index.

    >>> mode(tensor([5, 2, 2, 5, 2]))
    Values(values=Tensor(2), indices=Tensor(4))
    """
    axis = one_axis("mode", axis, x.rank)
    if not x.rank:
        return x, zero_of(x)
    order = sort_positions(x, axis)
    values = fetched(x, order, axis)
    alike = elementwise("eq", unsqueeze(values, axis), unsqueeze(values, axis + 1))
    count = fold("add", cast(alike, int64), (axis,), False)
    place = position("max", count, axis, False)
    most = elementwise("maximum", pick(count, place, axis), 1)  # no NaN equals itself
    found = pick(order, place + most - 1, axis)
    won = pick(x, found, axis)
    return (unsqueeze(won, axis), unsqueeze(found, axis)) if keepdims else (won, found)


@op(
    reference=lambda x, q, axis=None, keepdims=False, interpolation="linear": np.quantile(
        x, q, axis, keepdims=keepdims, method=interpolation
    ),
    read=("q",),
)
def quantile(
    x: Node,
    q: float | Sequence[float],
    axis: int | None = None,
    keepdims: bool = False,
    *,
    interpolation: str = "linear",
) -> Node:
    """The q-quantile along an axis, or of all elements; several q come along a new first axis.

    interpolation between two neighbours: "linear", their "midpoint", or the "lower", "higher" or
    "nearest" one.

    >>> quantile(tensor([0.0, 10.0, 20.0]), 0.25)
    Tensor(5.)
    >>> quantile(tensor([1.0]), 2.0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: quantile: q is a share between 0 and 1: got 2.0.
    """
    floats_only("quantile", x)
    if isinstance(q, (int, float)):
        return at_share(x, q, axis, keepdims, interpolation)
    made = stack([at_share(x, share, axis, keepdims, interpolation) for share in q or (0.5,)])
    return made if q else part(made, 0, 0, 0)


def at_share(x: Node, q: float, axis: int | None, keepdims: bool, interpolation: str) -> Node:
    """The quantile of every row at one share."""
    if not 0 <= q <= 1:
        raise ArgumentError(f"quantile: q is a share between 0 and 1: got {q}.")
    rank = x.rank
    if axis is None or not rank:
        x, axis, rank = reshape(x, (x.size,)), 0, x.rank
        value = between_ranks(x, q, 0, interpolation)
        return reshape(value, (1,) * rank) if keepdims else value
    axis = one_axis("quantile", axis, x.rank)
    value = between_ranks(x, q, axis, interpolation)
    return unsqueeze(value, axis) if keepdims else value


def between_ranks(x: Node, q: float, axis: int, interpolation: str) -> Node:
    """The element at a fractional rank of every row."""
    refuse_empty("quantile", x, (axis,))
    exact = q * (x.shape[axis] - 1)
    low = int(exact)
    share = exact - low
    choices = {"lower": 0.0, "higher": 1.0 if share else 0.0, "nearest": float(round(exact)) - low}
    choices["midpoint"] = choices["higher"] / 2
    if interpolation != "linear" and interpolation not in choices:
        raise ArgumentError(f"quantile: no interpolation {interpolation!r}.")
    share = choices.get(interpolation, share)
    order, broken = sort_positions(x, axis), fold("or", elementwise("isnan", x), (axis,), True)
    last = part(order, axis, x.shape[axis] - 1, x.shape[axis])

    def at(place: int) -> Node:
        found = where(broken, last, part(order, axis, place, place + 1))
        return at_rank(x, axis, found, False)[0]

    if share in (0, 1):
        return at(low + int(share))
    return interpolate_between(at(low), at(low + 1), share)


def interpolate_between(lower: Node, upper: Node, share: float) -> Node:
    """The value at a share of the way from lower to upper; lower itself if that is infinite."""
    below = elementwise(
        "and", elementwise("eq", lower, -math.inf), elementwise("lt", upper, math.inf)
    )
    stays = elementwise("or", below, elementwise("eq", lower, math.inf))
    return where(stays, lower, lower + (upper - lower) * share)


# places in what is sorted


def np_searchsorted(sorted_sequence: np.ndarray, values: np.ndarray, right: bool = False, **_: Any):
    """Compute searchsorted with numpy, for one sorted row."""
    return np.searchsorted(sorted_sequence, values, "right" if right else "left")


@op(reference=np_searchsorted, spelled="input=values")
def searchsorted(
    sorted_sequence: Node,
    values: Node | Scalar,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Node | None = None,
) -> Node:
    """The index in a sorted row at which to insert each value; right: after equal elements.

    Shapes: sorted_sequence (..., n), values (..., m) -> (..., m)

    sorter: indices that sort sorted_sequence, if it is not sorted yet.

    >>> searchsorted(tensor([10, 20, 30]), tensor([5, 20]))
    Tensor([0, 1])
    >>> searchsorted(tensor([10, 20, 30]), tensor([5, 20]), right=True)
    Tensor([0, 2])
    >>> searchsorted(ones(2, 3), ones(4, 5))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: searchsorted: rows differ: (2,) and (4,).
    """
    if sorter is not None:
        sorted_sequence = fetched(sorted_sequence, sorter, sorted_sequence.rank - 1)
    if not isinstance(values, Node):
        values = filling_of("searchsorted", sorted_sequence, values)
    row = "gt" if right or side == "right" else "ge"
    lone = sorted_sequence.rank == 1
    if not lone and sorted_sequence.shape[:-1] != values.shape[:-1]:
        raise ShapeError(
            f"searchsorted: rows differ: {sorted_sequence.shape[:-1]} and {values.shape[:-1]}."
        )
    found = bisected(sorted_sequence, values, row)
    return cast(found, int32) if out_int32 else found


def bisected(ordered: Node, values: Node, row: str) -> Node:
    """The first position whose element is not before a value, by bisection.

    A NaN value comes after all elements.
    """
    size, axis = ordered.shape[-1], ordered.rank - 1
    start = expand(constant(values.arena, 0, int64), values.shape)
    if size == 0:
        return start
    stop = expand(constant(values.arena, size, int64), values.shape)
    for _ in range(halvings(size)):
        middle = elementwise("floor_divide", start + stop, 2)
        place = elementwise("minimum", middle, size - 1)
        found = rows(ordered, 0, place) if ordered.rank == 1 else fetched(ordered, place, axis)
        searching, after = elementwise("lt", start, stop), elementwise(row, found, values)
        start = where(elementwise("and", searching, elementwise("not", after)), middle + 1, start)
        stop = where(elementwise("and", searching, after), middle, stop)
    return start


def halvings(size: int) -> int:
    """The number of halvings for a number of positions; sizes in a range share one number.

    >>> [halvings(size) for size in (0, 255, 256, 70_000)]
    [8, 8, 16, 32]
    """
    most = 8
    while size >> most:
        most *= 2
    return most


@op(
    inline=True,
    reference=lambda x, boundaries, right=False, out_int32=False: np_searchsorted(
        boundaries, x, right
    ),
)
def bucketize(x: Node, boundaries: Node, *, out_int32: bool = False, right: bool = False) -> Node:
    """The index of the interval between boundaries that contains each element.

    Shapes: x (...), boundaries (n) -> (...)

    >>> bucketize(tensor([5, 25, 95]), tensor([10, 20, 30]))
    Tensor([0, 2, 3])
    """
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


@op(reference=lambda x, y, invert=False: np.isin(x, y, invert=invert), hints=("assume_unique",))
def isin(x: Operand, y: Operand, *, invert: bool = False) -> Node:
    """Whether each element of x occurs in y.

    Shapes: x (*s), y (*t) -> (*s)

    >>> isin(tensor([1, 2, 3]), tensor([3, 1]))
    Tensor([ True, False,  True])
    """
    rank = x.rank if isinstance(x, Node) else 0
    lone = reshape(x, (*x.shape, 1)) if isinstance(x, Node) else x
    among = reshape(y, (1,) * rank + (y.size,)) if isinstance(y, Node) else y
    found = fold("or", elementwise("eq", lone, among), (rank,), False)
    return elementwise("not", found) if invert else found
