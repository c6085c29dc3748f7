"""Writes of values and slices at positions along an axis; a kernel writes slices in place."""

from __future__ import annotations

from gnomon.dtypes import int64
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, elementwise
from gnomon.ops import lookup_primitives
from gnomon.ops.facts import Claim
from gnomon.ops.joining import padded
from gnomon.ops.primitives import expand, identity_of, reshape
from gnomon.ops.registry import internal
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.view_parts import part

__all__ = [
    "cut",
    "fold_into",
    "put_rows",
    "scattered_extreme",
    "slices_put",
    "spec_of_elements",
]


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


def spec_of_elements(rank: int, axis: int) -> tuple[str, str]:
    """The letters of a table whose axis, letter z, is looked up, and of the positions."""
    own = LETTERS[:rank]
    return f"{own[:axis]}z{own[axis + 1 :]}", own


def cut(x: Node, axis: int | None, shape: tuple[int, ...]) -> Node:
    """The leading part of x with this shape; one axis may stay whole."""
    for k, n in enumerate(shape):
        x = x if k == axis or n == x.shape[k] else part(x, k, 0, n)
    return x


def fold_into(monoid: str, values: Node, index: Node, axis: int, x: Node, fill: Scalar) -> Node:
    """Fold values into positions of a tensor of x's shape; other positions hold the fill."""
    table, own = spec_of_elements(x.rank, axis)
    made = lookup_primitives.scatter(monoid, f"{own},{own}->{table}", values, index, x.shape[axis])
    for k, n in enumerate(x.shape):
        made = made if made.shape[k] == n else padded(made, k, 0, n - made.shape[k], fill)
    return made


def extreme_gradient(
    g: Node, y: Node, x: Node, values: Node, index: Node, axis: int, monoid: str
) -> tuple[Node, Node]:
    """The gradients of x and values: all elements equal to an extreme share its gradient."""
    table, own = spec_of_elements(x.rank, axis)
    back = f"{table},{own}->{own}"
    first = elementwise("eq", x, y)
    best = elementwise(
        "eq", values, lookup_primitives.gather(back, cut(y, axis, index.shape), index)
    )
    count = cast(first, int64) + fold_into("add", cast(best, int64), index, axis, x, 0)
    share = g / cast(elementwise("maximum", count, 1), g.dtype)
    shares = lookup_primitives.gather(back, cut(share, axis, index.shape), index)
    return where(first, share, 0), where(best, shares, 0)


@internal(gradient=extreme_gradient)
def scattered_extreme(x: Node, values: Node, index: Node, axis: int, monoid: str) -> Node:
    """The maximum or minimum of each element of x and the values at its position."""
    made = fold_into(monoid, values, index, axis, x, identity_of(monoid, x.dtype))
    return elementwise({"max": "maximum", "min": "minimum"}[monoid], x, made)
