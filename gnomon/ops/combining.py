"""Tensors laid out anew: pieces of several sizes, blocks on a diagonal, products of lists.

What joins along one axis is in joining.py, what views one tensor in views.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.dtypes import promote
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast
from gnomon.ops import view_primitives
from gnomon.ops.arguments import one_axis
from gnomon.ops.creation import meshgrid
from gnomon.ops.joining import cat, stack
from gnomon.ops.primitives import reshape
from gnomon.ops.registry import op
from gnomon.ops.views import part


@op(
    inline=True,
    reference=lambda x, sections, axis=0: tuple(np.array_split(x, sections, axis)),
)
def tensor_split(x: Node, sections: int | Sequence[int], axis: int = 0) -> tuple[Node, ...]:
    """So many parts of nearly one size, or parts that begin at the places given.

    Shapes: x (...) -> (?)
    """
    axis = one_axis("tensor_split", axis, x.rank)
    size = x.shape[axis]
    if isinstance(sections, int):
        least, longer = divmod(size, sections)
        cuts = [k * least + min(k, longer) for k in range(1, sections)]
    else:
        cuts = [min(max(k + size if k < 0 else k, 0), size) for k in sections]
    ends = [*cuts, size]
    starts = [0, *cuts]
    return tuple(part(x, axis, a, max(a, b)) for a, b in zip(starts, ends, strict=True))


@op(inline=True, reference=np.hsplit)
def hsplit(x: Node, sections: int | Sequence[int]) -> tuple[Node, ...]:
    """Parts along axis 1, of vectors along axis 0.

    Shapes: x (...) -> (?)
    """
    return tensor_split(x, sections, 1 if x.rank > 1 else 0)


@op(inline=True, reference=np.vsplit)
def vsplit(x: Node, sections: int | Sequence[int]) -> tuple[Node, ...]:
    """Parts along axis 0.

    Shapes: x (...) -> (?)
    """
    return tensor_split(x, sections, 0)


def lifted(x: Node, rank: int) -> Node:
    """x with at least so many axes; a matrix gets its third behind."""
    if x.rank >= rank:
        return x
    if rank == 3 and x.rank:
        return reshape(x, (1, x.size, 1) if x.rank == 1 else (*x.shape, 1))
    return reshape(x, (1,) * (rank - x.rank) + x.shape)


@op(inline=True, reference=np.atleast_1d)
def atleast_1d(x: Node) -> Node:
    """x with at least one axis.

    Shapes: x (...) -> (?)
    """
    return lifted(x, 1)


@op(inline=True, reference=np.atleast_2d)
def atleast_2d(x: Node) -> Node:
    """x with at least two axes.

    Shapes: x (...) -> (?)
    """
    return lifted(x, 2)


@op(inline=True, reference=np.atleast_3d)
def atleast_3d(x: Node) -> Node:
    """x with at least three axes.

    Shapes: x (...) -> (?)
    """
    return lifted(x, 3)


def np_block_diag(*xs: np.ndarray):
    """block_diag by numpy."""
    xs = [np.atleast_2d(x) for x in xs]
    made = np.zeros(tuple(sum(x.shape[k] for x in xs) for k in (0, 1)))
    down = across = 0
    for x in xs:
        made[down : down + x.shape[0], across : across + x.shape[1]] = x
        down, across = down + x.shape[0], across + x.shape[1]
    return made


@op(reference=np_block_diag)
def block_diag(*xs: Node) -> Node:
    """A matrix with these on its diagonal, one after another, and 0 elsewhere.

    Shapes: x (?) -> (?)
    """
    if any(x.rank > 2 for x in xs):
        raise ShapeError(f"block_diag: at most two axes each: got {[x.shape for x in xs]}.")
    kind = xs[0].dtype
    for x in xs[1:]:
        kind = promote(kind, x.dtype)
    blocks = [lifted(cast(x, kind), 2) for x in xs]
    made: list[Node] = []
    width, left = sum(x.shape[1] for x in blocks), 0
    for x in blocks:
        right = width - left - x.shape[1]
        made.append(view_primitives.pad(x, (0, left), (0, right), 0))
        left += x.shape[1]
    return cat(made, 0)


@op(
    inline=True,
    reference=lambda *xs: (
        np.stack([v.reshape(-1) for v in np.meshgrid(*xs, indexing="ij")], -1)
        if len(xs) > 1
        else xs[0]
    ),
)
def cartesian_prod(*xs: Node) -> Node:
    """All choices of one element from each vector, a row each.

    Shapes: x (n) -> (?)
    """
    if len(xs) == 1:
        return xs[0]
    grids = meshgrid(*xs, indexing="ij")
    return stack([reshape(x, (x.size,)) for x in grids], 1)


@op(inline=True, reference=lambda x, n=None, increasing=False: np.vander(x, n, increasing))
def vander(x: Node, n: int | None = None, increasing: bool = False) -> Node:
    """The powers of a vector's elements as columns, the highest first.

    Shapes: x (n) -> (?)
    """
    count = x.size if n is None else n
    powers = [x * 0 + 1]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    powers = powers[:count]
    return stack(powers if increasing else powers[::-1], 1)
