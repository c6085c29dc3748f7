"""Diagonals and triangles of the last two axes, or of two given ones.

A diagonal is a view: every (m + 1)-th element of the flattened matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import elementwise
from gnomon.ops import primitives, view_primitives
from gnomon.ops.arguments import distinct_axes, one_axis
from gnomon.ops.reductions import sum as total
from gnomon.ops.registry import op, view
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import part


@view(reference=np.diagonal)
def diagonal(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """The diagonal of two axes, shifted by an offset, as a new last axis.

    Shapes: x (*a, n, *b, m, *c) -> (*a, *b, *c, min(n, m, n + offset, m - offset))

    >>> diagonal(tensor([[1, 2, 3], [4, 5, 6]]), 1)
    Tensor([2, 6])
    """
    return diagonal_of(x, offset, axis1, axis2)


def diagonal_of(x: Node, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    """A diagonal of two axes, as a slice of them flattened."""
    a, b = (one_axis("diagonal", k, x.rank) for k in (axis1, axis2))
    if a == b:
        raise ArgumentError(f"diagonal: needs two axes: got {axis1} and {axis2} of x {x.shape}.")
    if isinstance(offset, float):
        raise ArgumentError(f"diagonal: offset must be an integer: got {offset!r}.")
    rest = tuple(k for k in range(x.rank) if k not in (a, b))
    rows, columns = x.shape[a], x.shape[b]
    size = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    kept = tuple(x.shape[k] for k in rest)
    flat = primitives.reshape(view_primitives.permute(x, (*rest, a, b)), (*kept, rows * columns))
    start = offset if offset >= 0 else -offset * columns
    stop = start + max((size - 1) * (columns + 1) + 1, 0) if size else start
    return part(flat, len(rest), start, stop, columns + 1)


def triangle(x: Node, row: str, k: int) -> Node:
    """x where column − row has this relation to k, 0 elsewhere."""
    if x.rank < 2:
        raise ShapeError(f"tril and triu: need two axes: got {x.shape}.")
    rows, columns = x.shape[-2:]
    down = primitives.reshape(x.arena.node("iota", (), size=rows, dtype=int64), (rows, 1))
    across = primitives.reshape(x.arena.node("iota", (), size=columns, dtype=int64), (1, columns))
    return where(elementwise(row, across, down + k), x, 0)


@op(reference=lambda x, k=0: np.tril(x, k), complex="parts")
def tril(x: Node, k: int = 0) -> Node:
    """x on and below the k-th diagonal, 0 above.

    Shapes: x (..., n, m) -> (..., n, m)

    >>> tril(tensor([[1, 2], [3, 4]]))
    Tensor([[1, 0],
            [3, 4]])
    """
    return triangle(x, "le", k)


@op(reference=lambda x, k=0: np.triu(x, k), complex="parts")
def triu(x: Node, k: int = 0) -> Node:
    """x on and above the k-th diagonal, 0 below.

    Shapes: x (..., n, m) -> (..., n, m)

    >>> triu(tensor([[1, 2], [3, 4]]), 1)
    Tensor([[0, 2],
            [0, 0]])
    """
    return triangle(x, "ge", k)


@op(reference=np.diag, complex="parts")
def diag(x: Node, diagonal: int = 0) -> Node:
    """The diagonal of a matrix, or a matrix with the given vector on its diagonal.

    Shapes: x (n) -> (n + abs(diagonal), n + abs(diagonal)); x (n, m) -> (min(n, m, n + diagonal, m
    - diagonal))

    >>> diag(tensor([1, 2]))
    Tensor([[1, 0],
            [0, 2]])
    >>> diag(ones(2, 2, 2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: diag: needs a vector or a matrix: got (2, 2, 2).
    """
    if x.rank == 2:
        return diagonal_of(x, diagonal)
    if x.rank != 1:
        raise ShapeError(f"diag: needs a vector or a matrix: got {x.shape}.")
    below, right = max(-diagonal, 0), max(diagonal, 0)
    count = x.size + below + right
    # flattened, neighbours on a diagonal stand count + 1 apart
    start = below * count + right
    spread = start + (x.size - 1) * (count + 1) + 1 if x.size else start
    flat = view_primitives.pad(x, (start,), (count * count - spread,), 0, (count,))
    return primitives.reshape(flat, (count, count))


@op(inline=True, reference=np.trace, complex="parts")
def trace(x: Node) -> Node:
    """The sum of the diagonal of a matrix.

    Shapes: x (n, m) -> ()

    >>> trace(tensor([[1, 2], [3, 4]]))
    Tensor(5)
    """
    return total(diagonal(x), -1)


@op(
    reference=lambda x, offset=0, dim1=-2, dim2=-1: np_diag_embed(x, offset, dim1, dim2),
    complex="parts",
)
def diag_embed(x: Node, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Node:
    """Matrices with the last axis of x on a diagonal of two axes, 0 elsewhere.

    Shapes: x (*s, n) -> (*p); sorted(p) == sorted([*s, n + abs(offset), n + abs(offset)])

    >>> diag_embed(tensor([[1, 2], [3, 4]])).shape
    Size([2, 2, 2])
    """
    rank, size = x.rank + 1, x.shape[-1] + abs(offset)
    first, second = distinct_axes("diag_embed", (dim1, dim2), rank)
    down = primitives.reshape(x.arena.node("iota", (), size=size, dtype=int64), (size, 1))
    across = primitives.reshape(x.arena.node("iota", (), size=size, dtype=int64), (1, size))
    none = (0,) * (x.rank - 1)
    wide = view_primitives.pad(x, (*none, max(-offset, 0)), (*none, max(offset, 0)), 0)
    rows = primitives.unsqueeze(wide, x.rank)
    made = where(elementwise("eq", across, down + offset), rows, 0)
    rest = iter(range(x.rank - 1))
    order = [
        x.rank - 1 if k == first else x.rank if k == second else next(rest) for k in range(rank)
    ]
    return view_primitives.permute(made, tuple(order))


def np_diag_embed(x: np.ndarray, offset: Any, dim1: Any, dim2: Any):
    """Compute diag_embed with numpy."""
    rows = x.reshape(-1, x.shape[-1])
    made = np.stack([np.diag(row, offset) for row in rows])
    size = made.shape[-1]
    return np.moveaxis(made.reshape(*x.shape[:-1], size, size), (-2, -1), (dim1, dim2))
