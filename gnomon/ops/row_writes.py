"""Writes of slices at positions along an axis, for a kernel that writes in place."""

from __future__ import annotations

from gnomon.dtypes import int64
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, elementwise
from gnomon.ops import lookup_primitives
from gnomon.ops.facts import Claim
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.registry import internal
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS

__all__ = ["put_rows", "slices_put"]


@internal(claim=Claim("put_rows", floats=False, over=True))
def put_rows(x: Node, index: Node, values: Node, *, axis: int) -> Node:
    """x with slices put at positions along an axis; of several at one, the last counts.

    index: a vector, or one vector per position of the leading axes, which x and values then have
    too.
    """
    lead, size = index.rank - 1, x.shape[axis]
    own = LETTERS[: x.rank]
    first, here = own[:lead], own[axis]
    number = x.arena.node("iota", (), size=index.shape[-1], dtype=int64)
    number = expand(reshape(number, (1,) * lead + number.shape), index.shape)
    winner = lookup_primitives.scatter(
        "max", f"{first}{here},{first}{here}->{first}z", number, index, size
    )
    table = f"{own[:axis]}z{own[axis + 1 :]}"
    new = lookup_primitives.gather(
        f"{table},{first}{here}->{own}", values, elementwise("maximum", winner, 0)
    )
    along_axes = tuple(n if k < lead or k == axis else 1 for k, n in enumerate(x.shape))
    return where(elementwise("ge", reshape(winner, along_axes), 0), new, x)


def slices_put(x: Node, axis: int, index: Node, values: Node | Scalar) -> Node | None:
    """A scatter as put_rows, if its positions were expanded to slices; None for others.

    axis: counted from the front, both of x and of the index, which has the axes of x.
    """
    if index.op != "expand" or not isinstance(values, Node) or values.shape != index.shape:
        return None
    known, others = index.inputs[0], [k for k in range(x.rank) if k != axis]
    lead = min(axis, *(k for k in others if known.shape[k] != index.shape[k]), x.rank)
    alike = known.shape[axis] == index.shape[axis]
    alike = alike and all(known.shape[k] == 1 for k in others if k >= lead)
    if not alike or any(x.shape[k] != index.shape[k] for k in others):
        return None
    flat = reshape(known, (*known.shape[:lead], known.shape[axis]))
    return put_rows(x, flat, cast(values, x.dtype), axis=axis)
