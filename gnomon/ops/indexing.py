"""Lookups and writes along one axis by tensors of positions: take, gather, scatter and others.

x[...] itself belongs to the tensor layer. Where several values have one index, sums add them all in
canonical order, and assignments keep the last: a fold finds its position, then the value is
fetched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import accumulator, int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, constant, elementwise
from gnomon.ops import lookup_primitives
from gnomon.ops.arguments import choice, filling_of, one_axis, positions_only
from gnomon.ops.histories import unmoved
from gnomon.ops.joining import padded
from gnomon.ops.primitives import expand, identity_of, reduce, reshape, unsqueeze
from gnomon.ops.registry import op
from gnomon.ops.row_writes import (
    cut,
    fold_into,
    put_rows,
    scattered_extreme,
    slices_put,
    spec_of_elements,
)
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS

WORDS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}
"""PyTorch's word for a fold -> the monoid."""


def counted_from_front(index: Node, size: int) -> Node:
    """Positions counted from the front; negative ones count from the end."""
    if index.dtype.kind == "uint":
        return index
    index = cast(index, int64)
    return where(elementwise("lt", index, 0), index + size, index)


def of_one_axis(function: Any, x: Node, axis: int, *given: Any, **words: Any) -> Node:
    """Apply a function to tensors of rank 0 as tensors of one axis and one element."""
    row = [reshape(v, (1,)) if isinstance(v, Node) and not v.rank else v for v in (x, *given)]
    return reshape(function(row[0], axis, *row[1:], **words), ())


# whole slices, chosen by a vector


def rows(x: Node, axis: int, index: Node) -> Node:
    """Slices of x at positions along an axis; the index's axes take that axis's place."""
    names = LETTERS[: x.rank + index.rank]
    own, other = names[: x.rank], names[x.rank :]
    table, result = (f"{own[:axis]}{new}{own[axis + 1 :]}" for new in ("z", other))
    return lookup_primitives.gather(f"{table},{other}->{result}", x, index)


@op(reference=lambda x, index, axis=None: np.take(x, index, axis), complex="parts")
def take(x: Node, index: Node, axis: int | None = None) -> Node:
    """Slices of x by index along an axis, negative ones from the end; None: of flattened x.

    Shapes: x (*a, n, *b), index (*i) -> (*a, *i, *b) if axis is not None else (*i)

    >>> take(tensor([[1, 2, 3], [4, 5, 6]]), tensor([2, -3]), axis=1)
    Tensor([[3, 1],
            [6, 4]])
    """
    positions_only("take", index)
    x, axis = (reshape(x, (x.size,)), 0) if axis is None else (x, axis)
    axis = one_axis("take", axis, x.rank)
    return rows(x, axis, counted_from_front(index, x.shape[axis]))


@op(reference=lambda x, axis, index: np.take(x, index, axis), complex="parts")
def index_select(x: Node, axis: int, index: Node) -> Node:
    """Slices of x by index along an axis.

    Shapes: x (*a, n, *b), index (m) -> (*a, m, *b)

    >>> index_select(tensor([[1, 2], [3, 4], [5, 6]]), 0, tensor([2, 0]))
    Tensor([[5, 6],
            [1, 2]])
    """
    if not x.rank:
        return of_one_axis(index_select, x, axis, index)
    axis, index = vector_of_positions("index_select", x, axis, index)
    return rows(x, axis, index)


def vector_of_positions(name: str, x: Node, axis: int, index: Node) -> tuple[int, Node]:
    """The axis counted from the front, and the index as a vector; raises for other indices."""
    positions_only(name, index)
    if index.rank > 1:
        raise ShapeError(f"{name}: positions must be a vector: got {index.shape}.")
    return one_axis(name, axis, x.rank), reshape(index, (index.size,))


def slices_match(name: str, x: Node, axis: int, index: Node, values: Node) -> None:
    """Refuse values that are not one slice of x for each position."""
    wanted = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    if values.shape != wanted:
        raise ShapeError(
            f"{name}: values must be {wanted}, a slice of x {x.shape} for each of {index.size} "
            f"positions: got {values.shape}."
        )


def spec_of_rows(rank: int, axis: int) -> str:
    """The scatter spec that folds slices, with letter y, into positions of an axis, letter z."""
    own = LETTERS[:rank]
    return f"{own[:axis]}y{own[axis + 1 :]},y->{own[:axis]}z{own[axis + 1 :]}"


def np_index_add(x: np.ndarray, axis: int, index: np.ndarray, values: np.ndarray, alpha: float = 1):
    """Compute index_add with numpy."""
    y = np.moveaxis(x.copy(), axis, 0)
    np.add.at(y, index, alpha * np.moveaxis(values, axis, 0))
    return np.moveaxis(y, 0, axis)


@op(reference=np_index_add, complex=("parts", 0, 3))
def index_add(x: Node, axis: int, index: Node, values: Node, *, alpha: Scalar = 1) -> Node:
    """x plus alpha times each slice of values at its index along an axis.

    Shapes: x (*a, n, *b), index (m), values (*a, m, *b) -> (*a, n, *b)

    >>> index_add(zeros(3), 0, tensor([1, 1, 2]), tensor([1.0, 10.0, 100.0]))
    Tensor([  0.,  11., 100.])
    """
    if not x.rank:
        return of_one_axis(index_add, x, axis, index, values, alpha=alpha)
    axis, index = vector_of_positions("index_add", x, axis, index)
    slices_match("index_add", x, axis, index, values)
    values = cast(values if alpha == 1 else values * alpha, x.dtype)
    spec = spec_of_rows(x.rank, axis)
    return x + lookup_primitives.scatter("add", spec, values, index, x.shape[axis])


def np_index_copy(x: np.ndarray, axis: int, index: np.ndarray, values: np.ndarray):
    """Compute index_copy with numpy."""
    y = np.moveaxis(x.copy(), axis, 0)
    y[index] = np.moveaxis(values, axis, 0)
    return np.moveaxis(y, 0, axis)


@op(reference=np_index_copy, complex=("parts", 0, 3))
def index_copy(x: Node, axis: int, index: Node, values: Node) -> Node:
    """x with slices replaced at indices along an axis; of repeated indices the last one counts.

    Shapes: x (*a, n, *b), index (m), values (*a, m, *b) -> (*a, n, *b)

    >>> index_copy(zeros(3), 0, tensor([2, 0]), tensor([7.0, 8.0]))
    Tensor([8., 0., 7.])
    """
    if not x.rank:
        return of_one_axis(index_copy, x, axis, index, values)
    axis, index = vector_of_positions("index_copy", x, axis, index)
    values = reshape(values, (1,)) if (x.rank, values.rank) == (1, 0) else values
    slices_match("index_copy", x, axis, index, values)
    return put_rows(x, index, cast(values, x.dtype), axis=axis) if index.size else x


@op(
    reference=lambda x, axis, index, value: np_index_copy(
        x, axis, index, np.full_like(np.take(x, index, axis), value)
    )
)
def index_fill(x: Node, axis: int, index: Node, value: Scalar | Node) -> Node:
    """x with the slices at indices along an axis filled by one value.

    Shapes: x (...), index (n) -> (...)

    >>> index_fill(tensor([1, 2, 3]), 0, tensor([0, 2]), 9)
    Tensor([9, 2, 9])
    """
    if not x.rank:
        return of_one_axis(index_fill, x, axis, index, value)
    axis, index = vector_of_positions("index_fill", x, axis, index)
    index = lookup_primitives.within(index, x.shape[axis])
    places = x.arena.node("iota", (), size=x.shape[axis], dtype=index.dtype)
    hit = elementwise("eq", unsqueeze(places, 1), reshape(index, (1, index.size)))
    chosen = reduce("or", hit, (1,))
    along_axis = reshape(chosen, tuple(n if k == axis else 1 for k, n in enumerate(x.shape)))
    return where(along_axis, filling_of("index_fill", x, value), x)


# single elements, each with a position of its own


def checked_axis(name: str, x: Node, axis: int, index: Node) -> int:
    """The axis counted from the front; raises if an axis of the index is larger than x's."""
    positions_only(name, index)
    axis = one_axis(name, axis, x.rank)
    smaller = index.rank == x.rank and all(
        k == axis or n <= m for k, (n, m) in enumerate(zip(index.shape, x.shape, strict=True))
    )
    if not smaller:
        raise ShapeError(
            f"{name}: positions {index.shape} must have the axes of x {x.shape}, none larger but "
            f"axis {axis}."
        )
    return axis


@op(
    reference=lambda x, axis, index: np.take_along_axis(cut_like(x, index, axis), index, axis),
    complex="parts",
)
def gather(x: Node, axis: int, index: Node, *, sparse_grad: bool = False) -> Node:
    """For each index, the element of x there along an axis, at the same place of other axes.

    Shapes: x (*s), index (*i) -> (*i); len(s) == len(i)

    >>> gather(tensor([[1, 2], [3, 4]]), 1, tensor([[1], [0]]))
    Tensor([[2],
            [3]])
    >>> gather(ones(2, 3), 1, tensor([0.5]))
    Traceback (most recent call last):
    gnomon.errors.DtypeError: gather: positions must be integers: got float32. Cast them to int64.
    """
    if not index.size:
        return unmoved(expand(constant(x.arena, 0, x.dtype), index.shape), x)
    x = x if x.rank or index.rank != 1 else reshape(x, (1,))
    axis = checked_axis("gather", x, axis, index)
    if not x.rank:
        return rows(reshape(x, (1,)), 0, index)
    table, own = spec_of_elements(x.rank, axis)
    return lookup_primitives.gather(f"{table},{own}->{own}", cut(x, axis, index.shape), index)


def cut_like(x: np.ndarray, index: np.ndarray, axis: int):
    """Compute with numpy the leading part of x that has the shape of an index."""
    axis %= x.ndim
    return x[tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(index.shape))]


@op(reference=np.take_along_axis, complex="parts")
def take_along_axis(x: Node, index: Node, axis: int = -1) -> Node:
    """gather with broadcasting of the other axes, and negative indices from the end.

    Shapes: x (*a, n, *b), index (*a, m, *b) -> (*a, m, *b)

    >>> take_along_axis(tensor([[10, 20], [30, 40]]), tensor([[-1], [0]]))
    Tensor([[20],
            [30]])
    >>> take_along_axis(ones(2, 3), tensor([0]))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: take_along_axis: axes differ: x (2, 3), index (1,).
    """
    positions_only("take_along_axis", index)
    axis = one_axis("take_along_axis", axis, x.rank)
    if x.rank != index.rank:
        raise ShapeError(f"take_along_axis: axes differ: x {x.shape}, index {index.shape}.")
    sizes = [(max(n, m) if min(n, m) else 0) for n, m in zip(x.shape, index.shape, strict=True)]
    sides = [
        expand(v, tuple(v.shape[axis] if k == axis else n for k, n in enumerate(sizes)))
        for v in (x, index)
    ]
    table, own = spec_of_elements(x.rank, axis)
    return lookup_primitives.gather(
        f"{table},{own}->{own}", sides[0], counted_from_front(sides[1], x.shape[axis])
    )


@op(inline=True, reference=lambda x, i, axis=None: np.take_along_axis(x, i, axis), complex="parts")
def take_along_dim(x: Node, index: Node, axis: int | None = None) -> Node:
    """take_along_axis; without an axis, of both flattened.

    Shapes: x (*s), index (*i) -> (prod(i)) if axis is None; x (*a, n, *b), index (*a, m, *b) ->
    (*a, m, *b) if axis is not None

    >>> take_along_dim(tensor([[10, 20], [30, 40]]), tensor([[3], [0]]))
    Tensor([40, 10])
    """
    if axis is None:
        x, index, axis = reshape(x, (x.size,)), reshape(index, (index.size,)), 0
    return take_along_axis(x, index, axis)


def values_for(name: str, values: Node | Scalar, x: Node, index: Node) -> Node:
    """One value per position, in the dtype of x, from a tensor or a number."""
    if not isinstance(values, Node):
        return expand(constant(x.arena, values, x.dtype, name), index.shape)
    if values.rank != index.rank or any(
        n > m for n, m in zip(index.shape, values.shape, strict=True)
    ):
        raise ShapeError(
            f"{name}: needs a value per position: index {index.shape}, values {values.shape}."
        )
    return cast(cut(values, None, index.shape), x.dtype)


def np_scatter(x: np.ndarray, axis: int, index: np.ndarray, values: np.ndarray, fold: Any = None):
    """Compute a scatter with numpy: assignment, or a ufunc."""
    y = x.copy()
    places: list[Any] = list(np.indices(index.shape))
    places[axis] = index
    values = np.broadcast_to(values, index.shape) if np.ndim(values) == 0 else values
    values = values[tuple(slice(n) for n in index.shape)]
    if fold is None:
        y[tuple(places)] = values
    else:
        fold.at(y, tuple(places), values)
    return y


@op(inline=True, reference=np_scatter, complex=("parts", 0, 3), spelled="value=values")
def scatter(
    x: Node, axis: int, index: Node, values: Node | Scalar, *, reduce: str | None = None
) -> Node:
    """x with values at indices along an axis; of repeated indices the last one counts.

    Shapes: x (*s), index (*i), values (*i) -> (*s); len(s) == len(i)

    reduce "add" or "multiply" combines them with x instead.

    >>> scatter(zeros(4), 0, tensor([3, 1]), tensor([5.0, 6.0]))
    Tensor([0., 6., 0., 5.])
    """
    if reduce is not None:
        choice("scatter", "reduce", reduce, ("add", "multiply"))
        return scatter_reduce(x, axis, index, values, {"add": "sum", "multiply": "prod"}[reduce])
    axis = checked_axis("scatter", x, axis, index) if index.size else axis
    found = slices_put(x, axis, index, values) if index.size else None
    return placed(x, axis, index, values) if found is None else found


@op(reference=np_scatter)
def placed(x: Node, axis: int, index: Node, values: Node | Scalar) -> Node:
    """scatter by a fold that finds which value stays, and a gather that fetches it.

    Shapes: x (*s), index (*i), values (*i) -> (*s); len(s) == len(i)

    >>> placed(zeros(4), 0, tensor([1, 3, 1]), tensor([5.0, 6.0, 7.0]))
    Tensor([0., 7., 0., 6.])
    """
    if not index.size:
        return unmoved(x, values)
    axis = checked_axis("scatter", x, axis, index)
    values = values_for("scatter", values, x, index)
    if not x.rank:
        return unmoved(values, x)
    count = index.shape[axis]
    number = reshape(
        x.arena.node("iota", (), size=count, dtype=int64),
        tuple(count if k == axis else 1 for k in range(x.rank)),
    )
    number = expand(number, index.shape)
    winner = fold_into("max", number, index, axis, x, identity_of("max", int64))
    taken = elementwise("ge", winner, 0)
    safe = where(taken, winner, 0)
    table, own = spec_of_elements(x.rank, axis)
    for k, n in enumerate(x.shape):
        if k != axis and values.shape[k] != n:
            values = padded(values, k, 0, n - values.shape[k], 0)
    return where(taken, lookup_primitives.gather(f"{table},{own}->{own}", values, safe), x)


@op(reference=lambda x, k, index, v: np_scatter(x, k, index, v, np.add), complex=("parts", 0, 3))
def scatter_add(x: Node, axis: int, index: Node, values: Node) -> Node:
    """x plus each value at its index along an axis.

    Shapes: x (*s), index (*i), values (*i) -> (*s); len(s) == len(i)

    >>> scatter_add(zeros(3), 0, tensor([0, 0, 2]), tensor([1.0, 10.0, 100.0]))
    Tensor([ 11.,   0., 100.])
    """
    if not index.size:
        return unmoved(x, values)
    axis = checked_axis("scatter_add", x, axis, index)
    values = values_for("scatter_add", values, x, index)
    return x + fold_into("add", values, index, axis, x, 0) if x.rank else x + values


@op
def scatter_reduce(
    x: Node,
    axis: int,
    index: Node,
    values: Node | Scalar,
    reduce: str,
    *,
    include_self: bool = True,
) -> Node:
    """x reduced with values at indices along an axis: "sum", "prod", "mean", "amax" or "amin".

    Shapes: x (*s), index (*i), values (*i) -> (*s); len(s) == len(i)

    Without include_self, elements that values reach ignore what x held. Equal values of a maximum
    or minimum share its gradient.

    >>> scatter_reduce(tensor([5, 5]), 0, tensor([0, 0]), tensor([3, 9]), "amax")
    Tensor([9, 5])
    """
    choice("scatter_reduce", "reduce", reduce, tuple(WORDS))
    if not index.size:
        return unmoved(x, values)
    if not x.rank:
        call = (scatter_reduce, x, axis, index, values, reduce)
        return of_one_axis(*call, include_self=include_self)
    axis, monoid = checked_axis("scatter_reduce", x, axis, index), WORDS[reduce]
    values = values_for("scatter_reduce", values, x, index)
    if include_self and monoid in ("max", "min"):
        return scattered_extreme(x, values, index, axis, monoid)
    made = fold_into(monoid, values, index, axis, x, identity_of(monoid, x.dtype))
    ones = expand(constant(x.arena, 1, int64), index.shape)
    count = fold_into("add", ones, index, axis, x, 0)
    hit = elementwise("gt", count, 0)
    start = x if include_self else where(hit, identity_of(monoid, x.dtype), x)
    rows = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}
    total = elementwise(rows[monoid], start, made)
    if reduce != "mean":
        return total
    count = count + 1 if include_self else elementwise("maximum", count, 1)
    if x.dtype.is_floating_point:
        return cast(cast(total, accumulator(x.dtype)) / cast(count, accumulator(x.dtype)), x.dtype)
    return elementwise("floor_divide", total, cast(count, x.dtype))
