"""Rows of a table by number, and numbers as rows.

Everything that looks up by tensors of positions is in indexing.py.
"""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import positions_only
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import reshape
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS


@op(reference=lambda index, weight, padding_idx=None: weight[index])
def embedding(index: Node, weight: Node, padding_idx: int | None = None) -> Node:
    """The rows of a table whose numbers are given; the row padding_idx gets no gradient.

    Shapes: index (...), weight (v, d) -> (..., d)
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


@op(reference=lambda index, num_classes: np.eye(num_classes, dtype=np.int64)[index])
def one_hot(index: Node, num_classes: int) -> Node:
    """1 at each number's place among so many, 0 elsewhere.

    Shapes: index (...) -> (..., n)

    >>> one_hot(tensor([2, 0]), 3)
    Tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    positions_only("one_hot", index)
    if num_classes < 1:
        raise ArgumentError(f"one_hot: needs the number of classes: got {num_classes}.")
    places = index.arena.node("iota", (), size=num_classes, dtype=index.dtype)
    lying = reshape(places, (1,) * index.rank + (num_classes,))
    return cast(elementwise("eq", reshape(index, (*index.shape, 1)), lying), int64)
