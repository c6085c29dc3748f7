"""Tensors as indices: masks, the positions that they hold, and tensors of one integer."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from gnomon.dtypes import bool_, int64, uint8
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.lazy import host_calls
from gnomon.ops.layouts import axes_of
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.scalars import where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_primitives import slice_
from gnomon.tensor.state import is_eager
from gnomon.tensor.tensor import Tensor, raw

__all__ = ["first_single", "is_mask", "numbered", "position_arrays", "positions", "where_mask"]


def is_mask(item: Any) -> bool:
    """Whether an item of an index is a boolean array."""
    array = isinstance(item, np.ndarray) and item.dtype.kind == "b"
    return array or (isinstance(item, Tensor) and item.dtype is bool_)


def positions(mask: Tensor) -> list[Tensor]:
    """The positions of nonzero elements, one tensor per axis."""
    return host_calls.done_on_host(position_arrays, [(None,)] * max(mask.ndim, 1), mask)


def position_arrays(array: np.ndarray) -> list[np.ndarray]:
    """The positions of nonzero elements, one array per axis."""
    return [x.astype(np.int64) for x in np.nonzero(np.atleast_1d(array))]


def where_mask(x: Node, mask: Node, value: Node) -> Node:
    """x with values where the mask is true: one for all, or one for each place in order."""
    inner = x.shape[mask.rank :]
    wide = expand(reshape(mask, mask.shape + (1,) * len(inner)), x.shape)
    value = cast(value, x.dtype)
    while value.rank > len(inner) + 1 and value.shape[0] == 1:
        value = reshape(value, value.shape[1:])
    if value.rank <= len(inner) or value.shape[0] == 1:
        return where(wide, expand(value, x.shape), x)
    count, rows = prod(mask.shape), value.shape[0]
    value = expand(value, (rows if count else 0, *inner))
    if not count:
        return x
    flat = reshape(mask, (count,))
    number = scan("add", cast(flat, int64), 0)
    found = expand(slice_(number, ((count - 1, count, 1),)), (count,))
    # where there are more or fewer values than places, all of these are outside
    differs = cast(elementwise("ne", found, rows), int64)
    place = where(flat, number - 1, 0) + differs * max(rows, 1)
    nothing = constant(x.arena, 0, x.dtype, "x[mask] = y")
    table = value if rows else expand(nothing, (1, *inner))
    rest = LETTERS[: len(inner)]
    read = elementwise("or", flat, elementwise("ne", found, rows))  # also where no mask holds
    read = expand(reshape(read, mask.shape + (1,) * len(inner)), x.shape)
    return where(read, reshape(gather(f"y{rest},z->z{rest}", table, place), x.shape), x)


# tensors of one integer


def numbered(x: Tensor, items: tuple) -> tuple:
    """An index with its integer scalars as numbers, which make views as in PyTorch.

    They are read, except in a capture or over ranks.
    """
    singles = [isinstance(item, Tensor) and is_integer(item) for item in items]
    if not any(singles) or not is_eager():
        return items
    read = [raw(item) for item, single in zip(items, singles, strict=True) if single]
    if any(map(axes_of, (raw(x), *read))):
        return items
    return tuple(
        index(item) if single else item for item, single in zip(items, singles, strict=True)
    )


def is_integer(item: Tensor) -> bool:
    """Whether a tensor is an integer scalar; one of uint8 counts as a mask."""
    return item.dtype.is_integer and item.dtype is not uint8 and not raw(item).shape


def first_single(arrays: Sequence[Tensor]) -> int | None:
    """The number of the first positions that are a scalar, beside arrays of several; else None."""
    ranks = [raw(x).rank for x in arrays]
    return ranks.index(0) if 0 in ranks and any(ranks) else None


def names_rows(x: Tensor, index: Any) -> bool:
    """Whether an index is one tensor of several places along the first axis."""
    if type(index) is not Tensor or x._overrides or not index.dtype.is_integer:
        return False
    # a view of memory that others may write to is read once, and not for its shape
    shown = x._storage.node if x._view is None else x._view.node
    return index.dtype is not uint8 and bool(raw(index).shape and shown and shown.shape)
