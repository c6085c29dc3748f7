"""Embedding: look up rows of a table by number, and encode numbers as rows.

Other lookups by index tensors are in indexing.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops.arguments import choice, positions_only
from gnomon.ops.lookup_primitives import gather, scatter, within
from gnomon.ops.primitives import expand, reshape, unsqueeze
from gnomon.ops.reductions import along, fold
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS, cumsum
from gnomon.ops.view_parts import part


@op(reference=lambda index, weight, padding_idx=None: weight[index])
def embedding(index: Node, weight: Node, padding_idx: int | None = None) -> Node:
    """Rows of a table by their indices; the row padding_idx gets no gradient.

    Shapes: index (...), weight (v, d) -> (..., d)

    >>> embedding(tensor([2, 0]), tensor([[1, 2], [3, 4], [5, 6]]))
    Tensor([[5, 6],
            [1, 2]])
    >>> embedding(tensor([0]), ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: embedding: weight must be (rows, width): got (3,).
    """
    positions_only("embedding", index)
    if weight.rank != 2:
        raise ShapeError(f"embedding: weight must be (rows, width): got {weight.shape}.")
    names = LETTERS[: index.rank]
    rows = gather(f"yz,{names}->{names}z", weight, index)
    if padding_idx is None:
        return rows
    if not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise ArgumentError(
            f"embedding: padding_idx {padding_idx} is no row of a table of {weight.shape[0]}."
        )
    padding = elementwise("eq", index, padding_idx % weight.shape[0])
    fixed = rows.arena.node("detach", (rows,))
    return where(reshape(padding, (*index.shape, 1)), fixed, rows)


MODES = ("sum", "mean", "max")


def np_embedding_bag(index: np.ndarray, weight: np.ndarray, **settings: Any):
    """Compute embedding_bag with numpy, for bags of one size."""
    how = {"sum": np.sum, "mean": np.mean, "max": np.max}[settings.get("mode", "mean")]
    return how(weight[index], axis=1)


@op(reference=np_embedding_bag)
def embedding_bag(
    index: Node,
    weight: Node,
    offsets: Node | None = None,
    *,
    mode: str = "mean",
    per_sample_weights: Node | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Node:
    """The sum, mean or maximum of each bag of table rows.

    Shapes: index (b, t), weight (v, d) -> (b, d); index (t), weight (v, d), offsets (b) -> (b -
    include_last_offset, d)

    Bags are the rows of index or, if it has one axis, begin at offsets. Only a sum takes
    per_sample_weights. The row padding_idx is left out, and empty bags give 0.

    >>> embedding_bag(tensor([0, 1, 2]), tensor([[1.0], [2.0], [4.0]]), tensor([0, 1]), mode="sum")
    Tensor([[1.],
            [6.]])
    """
    choice("embedding_bag", "mode", mode, MODES)
    check_bags(index, offsets)
    check_weights(index, weight, per_sample_weights, mode)
    rows = embedding(index, weight, padding_idx)
    if per_sample_weights is not None:
        rows = rows * unsqueeze(per_sample_weights, index.rank)
    if padding_idx is None:
        counted = None
    else:
        counted = elementwise("ne", index, padding_idx % weight.shape[0])
        nothing = float("-inf") if mode == "max" else 0.0
        rows = where(unsqueeze(counted, index.rank), rows, nothing)
    if offsets is None:
        return of_equal_bags(rows, counted, mode)
    count = offsets.size - include_last_offset
    return of_bags(rows, counted, bags_of(index.size, offsets, count), count, mode)


def check_bags(index: Node, offsets: Node | None) -> None:
    """Refuse an index whose shape does not describe bags."""
    if index.rank != (2 if offsets is None else 1):
        wanted = "(bags, size)" if offsets is None else "one axis beside offsets"
        raise ShapeError(f"embedding_bag: index must be {wanted}: got {index.shape}.")


def check_weights(index: Node, weight: Node, weights: Node | None, mode: str) -> None:
    """Refuse weights of rows whose shape, dtype or mode does not fit."""
    if weights is None:
        return
    if mode != "sum" or weights.shape != index.shape:
        raise ArgumentError(
            f"embedding_bag: per_sample_weights are for mode 'sum' and shaped like index "
            f"{index.shape}: got mode {mode!r} and {weights.shape}."
        )
    if weights.dtype != weight.dtype:
        raise DtypeError(
            f"embedding_bag: per_sample_weights must be {weight.dtype.name}, as the table: got "
            f"{weights.dtype.name}. Cast them."
        )


def of_equal_bags(rows: Node, counted: Node | None, mode: str) -> Node:
    """Fold rows (bags, size, width) over each bag, by a mode."""
    if mode == "max":
        highest = fold("max", rows, (1,), False)
        if counted is None:
            return highest
        return where(unsqueeze(fold("or", counted, (1,), False), 1), highest, 0.0)
    total = fold("add", rows, (1,), False)
    if mode == "sum":
        return total
    if counted is None:
        return total / max(rows.shape[1], 1)
    return shared_out(total, fold("add", cast(counted, int64), (1,), False))


def bags_of(size: int, offsets: Node, count: int) -> Node:
    """The bag of each of `size` positions, by counting the bags that have begun."""
    ones = expand(constant(offsets.arena, 1, int64), offsets.shape)
    begun = scatter("add", "x,x->y", ones, offsets, size + 1)
    bags = cumsum(part(begun, 0, 0, size), 0) - 1
    return elementwise("minimum", bags, max(count - 1, 0))


def of_bags(rows: Node, counted: Node | None, bags: Node, count: int, mode: str) -> Node:
    """Fold rows (positions, width) by their bags, by a mode."""
    if mode == "max" and rows.shape[0]:
        return highest_of_bags(rows, counted, bags, count)
    total = scatter("add", "xz,x->yz", rows, bags, count)
    if mode == "sum":
        return total
    each = expand(constant(bags.arena, 1, int64), bags.shape)
    each = each if counted is None else cast(counted, int64)
    return shared_out(total, scatter("add", "x,x->y", each, bags, count))


def highest_of_bags(rows: Node, counted: Node | None, bags: Node, count: int) -> Node:
    """The largest element of each column in each bag, the first of equal ones; 0 in empty bags."""
    fixed, last = rows.arena.node("detach", (rows,)), rows.shape[0]
    best = gather("yz,x->xz", scatter("max", "xz,x->yz", fixed, bags, count), bags)
    won = elementwise("or", elementwise("eq", fixed, best), elementwise("isnan", fixed))
    if counted is not None:
        won = elementwise("and", won, unsqueeze(counted, 1))
    first = scatter("min", "xz,x->yz", where(won, along(rows, 0), last), bags, count)
    found = gather("xz,yz->yz", rows, elementwise("minimum", first, last - 1))
    return where(elementwise("lt", first, last), found, 0.0)


def shared_out(total: Node, count: Node) -> Node:
    """Sums divided by their counts, by at least 1."""
    some = elementwise("maximum", count, 1)
    return total / cast(reshape(some, (*count.shape, 1)), total.dtype)


@op(reference=lambda index, num_classes: np.eye(num_classes, dtype=np.int64)[index])
def one_hot(index: Node, num_classes: int) -> Node:
    """Vectors of num_classes elements: 1 at each index, 0 elsewhere.

    Shapes: index (...) -> (..., num_classes)

    >>> one_hot(tensor([2, 0]), 3)
    Tensor([[0, 0, 1],
            [1, 0, 0]])
    >>> one_hot(tensor([0]), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: one_hot: needs the number of classes: got 0.
    """
    positions_only("one_hot", index)
    if num_classes < 1:
        raise ArgumentError(f"one_hot: needs the number of classes: got {num_classes}.")
    index = within(index, num_classes)
    places = index.arena.node("iota", (), size=num_classes, dtype=index.dtype)
    classes = reshape(places, (1,) * index.rank + (num_classes,))
    return cast(elementwise("eq", reshape(index, (*index.shape, 1)), classes), int64)
