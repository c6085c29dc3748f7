"""Lookups and writes along one axis by tensors of positions: take, gather, scatter and their kin.

x[...] itself belongs to the tensor layer. Where several values meet in one place, sums add them all
in canonical order, and assignments keep the last: positions are folded first, then values fetched.
"""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import accumulator, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, constant, elementwise
from gnomon.ops import lookup_primitives
from gnomon.ops.arguments import choice, one_axis, positions_only
from gnomon.ops.joining import padded
from gnomon.ops.primitives import expand, identity_of, reshape, unsqueeze
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.scans import LETTERS
from gnomon.ops.views import part

WORDS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "mean": "add"}
"""PyTorch's word for a fold -> the monoid."""


def counted_from_front(index: Node, size: int) -> Node:
    """Positions in which negative ones count from the end."""
    if index.dtype.kind == "uint":
        return index
    index = cast(index, int64)
    return where(elementwise("lt", index, 0), index + size, index)


# whole slices, chosen by a vector


def rows(x: Node, axis: int, index: Node) -> Node:
    """Slices of x at positions along an axis; the index's axes take that axis's place."""
    names = LETTERS[: x.rank + index.rank]
    own, other = names[: x.rank], names[x.rank :]
    table = f"{own[:axis]}z{own[axis + 1 :]}"
    return lookup_primitives.gather(
        f"{table},{other}->{own[:axis]}{other}{own[axis + 1 :]}", x, index
    )


@op(reference=lambda x, index, axis=None: np.take(x, index, axis))
def take(x: Node, index: Node, axis: int | None = None) -> Node:
    """The slices at positions along an axis, negative ones from the end; no axis: of x laid flat.

    Shapes: x (...), index (?) -> (?)
    """
    positions_only("take", index)
    x, axis = (reshape(x, (x.size,)), 0) if axis is None else (x, axis)
    axis = one_axis("take", axis, x.rank)
    return rows(x, axis, counted_from_front(index, x.shape[axis]))


@op(reference=lambda x, axis, index: np.take(x, index, axis))
def index_select(x: Node, axis: int, index: Node) -> Node:
    """The slices at positions along an axis.

    Shapes: x (...), index (n) -> (?)
    """
    axis, index = vector_of_positions("index_select", x, axis, index)
    return rows(x, axis, index)


def vector_of_positions(name: str, x: Node, axis: int, index: Node) -> tuple[int, Node]:
    """The axis, and the index once it is known to be a vector of positions, or one."""
    positions_only(name, index)
    if index.rank > 1:
        raise ShapeError(f"{name}: positions must be a vector: got {index.shape}.")
    return one_axis(name, axis, x.rank), reshape(index, (index.size,))


def slices_match(name: str, x: Node, axis: int, index: Node, values: Node) -> None:
    """Refuse values that are not one slice of x per position."""
    wanted = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    if values.shape != wanted:
        raise ShapeError(
            f"{name}: values must be {wanted}, a slice of x {x.shape} for each of {index.size} "
            f"positions: got {values.shape}."
        )


def spec_of_rows(rank: int, axis: int) -> str:
    """Slices by the letter y, put along the axis z."""
    own = LETTERS[:rank]
    return f"{own[:axis]}y{own[axis + 1 :]},y->{own[:axis]}z{own[axis + 1 :]}"


def np_index_add(x: np.ndarray, axis: int, index: np.ndarray, values: np.ndarray, alpha: float = 1):
    """index_add by numpy."""
    y = np.moveaxis(x.copy(), axis, 0)
    np.add.at(y, index, alpha * np.moveaxis(values, axis, 0))
    return np.moveaxis(y, 0, axis)


@op(reference=np_index_add)
def index_add(x: Node, axis: int, index: Node, values: Node, *, alpha: Scalar = 1) -> Node:
    """x plus slices, each at its position along an axis.

    Shapes: x (...), index (n), values (?) -> (...)
    """
    axis, index = vector_of_positions("index_add", x, axis, index)
    slices_match("index_add", x, axis, index, values)
    values = cast(values if alpha == 1 else values * alpha, x.dtype)
    spec = spec_of_rows(x.rank, axis)
    return x + lookup_primitives.scatter("add", spec, values, index, x.shape[axis])


def np_index_copy(x: np.ndarray, axis: int, index: np.ndarray, values: np.ndarray):
    """index_copy by numpy."""
    y = np.moveaxis(x.copy(), axis, 0)
    y[index] = np.moveaxis(values, axis, 0)
    return np.moveaxis(y, 0, axis)


@op(reference=np_index_copy)
def index_copy(x: Node, axis: int, index: Node, values: Node) -> Node:
    """x with slices put at positions along an axis, the last of those that meet.

    Shapes: x (...), index (n), values (?) -> (...)
    """
    axis, index = vector_of_positions("index_copy", x, axis, index)
    slices_match("index_copy", x, axis, index, values)
    return put_rows(x, index, cast(values, x.dtype), axis=axis) if index.size else x


@internal
def put_rows(x: Node, index: Node, values: Node, *, axis: int) -> Node:
    """x with slices put at a vector of positions along an axis, the last of those that meet."""
    number = x.arena.node("iota", (), size=index.size, dtype=int64)
    winner = lookup_primitives.scatter("max", "x,x->z", number, index, x.shape[axis])
    new = rows(values, axis, elementwise("maximum", winner, 0))
    lying = reshape(winner, tuple(n if k == axis else 1 for k, n in enumerate(x.shape)))
    return where(elementwise("ge", lying, 0), new, x)


@op(
    reference=lambda x, axis, index, value: np_index_copy(
        x, axis, index, np.full_like(np.take(x, index, axis), value)
    )
)
def index_fill(x: Node, axis: int, index: Node, value: Scalar | Node) -> Node:
    """x with one value in the slices at positions along an axis.

    Shapes: x (...), index (n) -> (...)
    """
    axis, index = vector_of_positions("index_fill", x, axis, index)
    places = x.arena.node("iota", (), size=x.shape[axis], dtype=index.dtype)
    hit = elementwise("eq", unsqueeze(places, 1), reshape(index, (1, index.size)))
    chosen = x.arena.node(
        "reduce", (hit,), monoid="or", axis=1, leaves=1, lanes=True, dtype=hit.dtype
    )
    lying = reshape(chosen, tuple(n if k == axis else 1 for k, n in enumerate(x.shape)))
    value = cast(value, x.dtype) if isinstance(value, Node) else constant(x.arena, value, x.dtype)
    return where(lying, value, x)


# single elements, each with a position of its own


def spec_of_elements(rank: int, axis: int) -> tuple[str, str]:
    """Letters of a table, whose axis is looked up, and of positions shaped like the result."""
    own = LETTERS[:rank]
    return f"{own[:axis]}z{own[axis + 1 :]}", own


def fits(name: str, x: Node, axis: int, index: Node) -> int:
    """The axis, once the index is known to have the axes of x and no larger ones elsewhere."""
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


def cut(x: Node, axis: int | None, shape: tuple[int, ...]) -> Node:
    """The corner of x with this shape, whole along an axis."""
    for k, n in enumerate(shape):
        x = x if k == axis or n == x.shape[k] else part(x, k, 0, n)
    return x


@op(reference=lambda x, axis, index: np.take_along_axis(cut_like(x, index, axis), index, axis))
def gather(x: Node, axis: int, index: Node) -> Node:
    """For every position, the element of x there along an axis, at the same place on the others.

    Shapes: x (?), index (...) -> (...)

    >>> gather(tensor([[1, 2], [3, 4]]), 1, tensor([[1], [0]]))
    Tensor([[2],
            [3]])
    """
    axis = fits("gather", x, axis, index)
    if not x.rank:
        return x
    table, own = spec_of_elements(x.rank, axis)
    return lookup_primitives.gather(f"{table},{own}->{own}", cut(x, axis, index.shape), index)


def cut_like(x: np.ndarray, index: np.ndarray, axis: int):
    """The corner by numpy."""
    axis %= x.ndim
    return x[tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(index.shape))]


@op(reference=np.take_along_axis, aliases=("take_along_dim",))
def take_along_axis(x: Node, index: Node, axis: int = -1) -> Node:
    """gather, whose other axes broadcast and whose negative positions count from the end.

    Shapes: x (?), index (?) -> (?)
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


def values_for(name: str, values: Node | Scalar, x: Node, index: Node) -> Node:
    """One value per position, in the dtype of x."""
    if not isinstance(values, Node):
        return expand(constant(x.arena, values, x.dtype), index.shape)
    if values.rank != index.rank or any(
        n > m for n, m in zip(index.shape, values.shape, strict=True)
    ):
        raise ShapeError(
            f"{name}: needs a value per position: index {index.shape}, values {values.shape}."
        )
    return cast(cut(values, None, index.shape), x.dtype)


def folded(monoid: str, values: Node, index: Node, axis: int, x: Node, fill: Scalar) -> Node:
    """Values folded into places of x's shape; what no value reaches holds the fill."""
    table, own = spec_of_elements(x.rank, axis)
    made = lookup_primitives.scatter(monoid, f"{own},{own}->{table}", values, index, x.shape[axis])
    for k, n in enumerate(x.shape):
        made = made if made.shape[k] == n else padded(made, k, 0, n - made.shape[k], fill)
    return made


def np_scatter(x: np.ndarray, axis: int, index: np.ndarray, values: np.ndarray, fold=None):
    """Scatter by numpy: assignment, or a ufunc."""
    y = x.copy()
    places = list(np.indices(index.shape))
    places[axis] = index
    values = np.broadcast_to(values, index.shape) if np.ndim(values) == 0 else values
    values = values[tuple(slice(n) for n in index.shape)]
    if fold is None:
        y[tuple(places)] = values
    else:
        fold.at(y, tuple(places), values)
    return y


@op(inline=True, reference=np_scatter)
def scatter(
    x: Node, axis: int, index: Node, values: Node | Scalar, *, reduce: str | None = None
) -> Node:
    """x with values at positions along an axis, the last of those that meet.

    Shapes: x (...), index (?) -> (...)

    reduce "add" or "multiply" folds them into x instead.
    """
    if reduce is not None:
        choice("scatter", "reduce", reduce, ("add", "multiply"))
        fold = {"add": "sum", "multiply": "prod"}[reduce]
        return scatter_reduce(x, axis, index, values, fold)
    return placed(x, axis, index, values)


@op(reference=np_scatter)
def placed(x: Node, axis: int, index: Node, values: Node | Scalar) -> Node:
    """x with values at positions along an axis: a fold decides which value stays, and fetches it.

    Shapes: x (...), index (?) -> (...)
    """
    axis = fits("scatter", x, axis, index)
    values = values_for("scatter", values, x, index)
    if not index.size or not x.rank:
        return x if x.rank else values
    count = index.shape[axis]
    number = reshape(
        x.arena.node("iota", (), size=count, dtype=int64),
        tuple(count if k == axis else 1 for k in range(x.rank)),
    )
    number = expand(number, index.shape)
    winner = folded("max", number, index, axis, x, identity_of("max", int64))
    taken = elementwise("ge", winner, 0)
    safe = where(taken, winner, 0)
    table, own = spec_of_elements(x.rank, axis)
    for k, n in enumerate(x.shape):
        if k != axis and values.shape[k] != n:
            values = padded(values, k, 0, n - values.shape[k], 0)
    return where(taken, lookup_primitives.gather(f"{table},{own}->{own}", values, safe), x)


@op(reference=lambda x, axis, index, values: np_scatter(x, axis, index, values, np.add))
def scatter_add(x: Node, axis: int, index: Node, values: Node) -> Node:
    """x plus values, each at its position along an axis.

    Shapes: x (...), index (?), values (?) -> (...)
    """
    axis = fits("scatter_add", x, axis, index)
    values = values_for("scatter_add", values, x, index)
    return x + folded("add", values, index, axis, x, 0) if x.rank else x + values


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
    """x folded with values at positions along an axis: "sum", "prod", "mean", "amax" or "amin".

    Shapes: x (...), index (?) -> (...)

    Without include_self, places that values reach forget what x held. Values that meet in a
    largest or smallest share its gradient; products have none.
    """
    choice("scatter_reduce", "reduce", reduce, tuple(WORDS))
    axis, monoid = fits("scatter_reduce", x, axis, index), WORDS[reduce]
    values = values_for("scatter_reduce", values, x, index)
    made = folded(monoid, values, index, axis, x, identity_of(monoid, x.dtype))
    ones = expand(constant(x.arena, 1, int64), index.shape)
    count = folded("add", ones, index, axis, x, 0)
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


def np_masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray):
    """masked_scatter by numpy."""
    y, mask = x.copy(), np.broadcast_to(mask, x.shape)
    y[mask] = source.reshape(-1)[: mask.sum()]
    return y


@op(reference=np_masked_scatter)
def masked_scatter(x: Node, mask: Node, source: Node) -> Node:
    """x with the elements of another tensor, in order, where the mask holds.

    Shapes: x (...), mask (?), source (?) -> (...)
    """
    held = reshape(expand(mask, x.shape), (x.size,))
    number = scan("add", cast(held, int64), 0) - 1
    place = elementwise("minimum", elementwise("maximum", number, 0), source.size - 1)
    flat = reshape(cast(source, x.dtype), (source.size,))
    new = where(held, rows(flat, 0, place), reshape(x, (x.size,)))
    return reshape(new, x.shape)


@op(
    reference=lambda index, size, weights=None: np.bincount(index, weights, size),
)
def counts(index: Node, size: int, weights: Node | None = None) -> Node:
    """How often each of 0 … size − 1 occurs, or the sum of its weights.

    Shapes: index (n) -> (?)
    """
    positions_only("counts", index)
    if index.rank != 1:
        raise ShapeError(f"counts: needs a vector: got {index.shape}.")
    if weights is not None and weights.shape != index.shape:
        raise ArgumentError(f"counts: weights must be {index.shape}: got {weights.shape}.")
    ones = expand(constant(index.arena, 1, int64), index.shape) if weights is None else weights
    return lookup_primitives.scatter("add", "x,x->z", ones, index, size)
