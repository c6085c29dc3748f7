"""Counts of positions, and elements selected by a mask.

Lookups and writes by index are in indexing.py.
"""

from __future__ import annotations

import numpy as np

from gnomon.dtypes import int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant
from gnomon.ops import lookup_primitives
from gnomon.ops.arguments import positions_only
from gnomon.ops.creation import broadcast_tensors
from gnomon.ops.indexing import rows
from gnomon.ops.joining import cat
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.scan_primitives import scan


def np_masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray):
    """Compute masked_scatter with numpy."""
    x, mask = np.broadcast_arrays(x, mask)
    y = x.copy()
    y[mask] = source.reshape(-1)[: mask.sum()]
    return y


@op(reference=np_masked_scatter, complex=("parts", 0, 2))
def masked_scatter(x: Node, mask: Node, source: Node) -> Node:
    """x with the elements where the mask is True replaced by elements of source, in order.

    Shapes: x (...), mask (...), source (*m) -> (...)

    >>> masked_scatter(tensor([0, 0, 0]), tensor([True, False, True]), tensor([7, 8]))
    Tensor([7, 0, 8])
    >>> masked_scatter(tensor([0, 0]), tensor([True, True]), tensor([7])).tolist()
    Traceback (most recent call last):
    gnomon.errors.IndexOutOfBounds: ...
    """
    x, mask = broadcast_tensors(x, mask)
    held = reshape(mask, (x.size,))
    number = scan("add", cast(held, int64), 0) - 1
    # element 0 is for places that are not held: of an empty source they read one, too
    own = reshape(cast(source, x.dtype), (source.size,))
    flat = cat([expand(constant(x.arena, 0, x.dtype), (1,)), own], 0)
    new = where(held, rows(flat, 0, where(held, number + 1, 0)), reshape(x, (x.size,)))
    return reshape(new, x.shape)


@op(
    reference=lambda index, size, weights=None: np.bincount(index, weights, size),
)
def counts(index: Node, size: int, weights: Node | None = None) -> Node:
    """The number of occurrences of each of 0 … size − 1, or the sum of their weights.

    Shapes: index (n), weights (n) -> (size)

    >>> counts(tensor([1, 1, 3]), 5)
    Tensor([0, 2, 0, 1, 0])
    >>> counts(tensor([[1, 1]]), 5)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: counts: needs a vector: got (1, 2).
    """
    positions_only("counts", index)
    if index.rank != 1:
        raise ShapeError(f"counts: needs a vector: got {index.shape}.")
    if weights is not None and weights.shape != index.shape:
        raise ArgumentError(f"counts: weights must be {index.shape}: got {weights.shape}.")
    ones = expand(constant(index.arena, 1, int64), index.shape) if weights is None else weights
    return lookup_primitives.scatter("add", "x,x->z", ones, index, size)
