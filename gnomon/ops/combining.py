"""Operations that combine or cut tensors: splits by sizes, block diagonals, products of lists.

Joins along one axis are in joining.py, views of one tensor in views.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import promote
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant
from gnomon.ops import view_primitives
from gnomon.ops.arguments import listed, many_axes, one_axis
from gnomon.ops.creation import meshgrid
from gnomon.ops.joining import cat, stack
from gnomon.ops.primitives import expand, reshape, unsqueeze
from gnomon.ops.registry import op, view
from gnomon.ops.view_parts import flip, part

MOST_POWERS = MOST_PARTS = 1 << 16


@view(
    reference=lambda x, sections, axis=0: tuple(np.array_split(x, sections, axis)),
    read=("sections",),
    spelled="indices=sections indices_or_sections=sections",
)
def tensor_split(x: Node, sections: int | Sequence[int], axis: int = 0) -> tuple[Node, ...]:
    """Split x into a number of parts of nearly equal size, or at the given positions.

    Shapes: x (*a, sum(n_k), *b) -> (*a, n_k, *b)

    >>> [len(part) for part in tensor_split(arange(7), 3)]
    [3, 2, 2]
    >>> tensor_split(arange(7), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: tensor_split: gives 1 to 65536 parts: got 0.
    """
    axis = one_axis("tensor_split", axis, x.rank)
    size = x.shape[axis]
    if isinstance(sections, int) and not 1 <= sections <= MOST_PARTS:
        raise ArgumentError(f"tensor_split: gives 1 to {MOST_PARTS} parts: got {sections}.")
    if isinstance(sections, int):
        least, longer = divmod(size, sections)
        cuts = [k * least + min(k, longer) for k in range(1, sections)]
    else:
        if not all(hasattr(type(k), "__index__") for k in sections):
            raise ArgumentError(f"tensor_split: places are whole numbers: got {list(sections)}.")
        cuts = [min(max(k + size if k < 0 else k, 0), size) for k in sections]
    ends = [*cuts, size]
    starts = [0, *cuts]
    return tuple(part(x, axis, a, max(a, b)) for a, b in zip(starts, ends, strict=True))


@view(reference=np.hsplit, spelled="indices=sections")
def hsplit(x: Node, sections: int | Sequence[int]) -> tuple[Node, ...]:
    """Split along axis 1, or vectors along axis 0.

    Shapes: x (n, sum(m_k), *s) -> (n, m_k, *s); x (sum(n_k)) -> (n_k)

    >>> hsplit(tensor([[1, 2, 3, 4]]), 2)
    (Tensor([[1, 2]]), Tensor([[3, 4]]))
    """
    return even_parts("hsplit", x, sections, 1 if x.rank > 1 else 0)


@view(reference=np.vsplit, spelled="indices=sections")
def vsplit(x: Node, sections: int | Sequence[int]) -> tuple[Node, ...]:
    """Split along axis 0.

    Shapes: x (sum(n_k), *s) -> (n_k, *s)

    >>> [part.shape for part in vsplit(ones(5, 2), (1, 3))]
    [Size([1, 2]), Size([2, 2]), Size([2, 2])]
    >>> vsplit(ones(4), 2)
    Traceback (most recent call last):
    gnomon.errors.ShapeError: vsplit: x needs at least 2 axes: got (4,). Use hsplit.
    """
    if x.rank < 2:
        raise ShapeError(f"vsplit: x needs at least 2 axes: got {x.shape}. Use hsplit.")
    return even_parts("vsplit", x, sections, 0)


@view(reference=np.dsplit, spelled="indices=sections")
def dsplit(x: Node, sections: int | Sequence[int]) -> tuple[Node, ...]:
    """Split along axis 2.

    Shapes: x (n, m, sum(p_k), *s) -> (n, m, p_k, *s)

    >>> [part.shape for part in dsplit(ones(1, 2, 4), 2)]
    [Size([1, 2, 2]), Size([1, 2, 2])]
    """
    return even_parts("dsplit", x, sections, 2)


def even_parts(name: str, x: Node, sections: int | Sequence[int], axis: int) -> tuple[Node, ...]:
    """Split an axis into parts of one size, or at the given positions."""
    count = sections if isinstance(sections, int) and sections > 0 else 1
    if x.rank <= axis or x.shape[axis] % count:
        raise ShapeError(
            f"{name}: {sections} parts of one size do not make axis {axis} of {x.shape}. Use "
            "tensor_split."
        )
    return tensor_split(x, sections, axis)


def lifted_all(x: Node | Sequence[Node], more: Sequence[Node], rank: int) -> Any:
    """One tensor or several with at least `rank` axes."""
    if isinstance(x, Node) and not more:
        return lifted(x, rank)
    return tuple(lifted(v, rank) for v in listed(f"atleast_{rank}d", (x, *more)))


def lifted(x: Node, rank: int) -> Node:
    """x with at least `rank` axes; a matrix gets its third axis at the end."""
    if x.rank >= rank:
        return x
    if rank == 3 and x.rank:
        return reshape(x, (1, x.size, 1) if x.rank == 1 else (*x.shape, 1))
    return reshape(x, (1,) * (rank - x.rank) + x.shape)


def needs_axes(name: str, x: Node, count: int) -> None:
    """Refuse a tensor with fewer than `count` axes."""
    if x.rank < count:
        raise ShapeError(f"{name}: needs at least {count} axes: got {x.shape}.")


@op(inline=True, reference=np.flipud, complex="parts")
def flipud(x: Node) -> Node:
    """Reverse the order of elements along the first axis.

    Shapes: x (...) -> (...)

    >>> flipud(tensor([[1, 2], [3, 4]]))
    Tensor([[3, 4],
            [1, 2]])
    """
    needs_axes("flipud", x, 1)
    return flip(x, 0)


@op(inline=True, reference=np.fliplr, complex="parts")
def fliplr(x: Node) -> Node:
    """Reverse the order of elements along the second axis.

    Shapes: x (...) -> (...)

    >>> fliplr(tensor([[1, 2], [3, 4]]))
    Tensor([[2, 1],
            [4, 3]])
    """
    needs_axes("fliplr", x, 2)
    return flip(x, 1)


@view(reference=np.expand_dims)
def expand_dims(x: Node, axis: int | Sequence[int] = 0) -> Node:
    """Insert axes of size 1 at the given positions of the result.

    Shapes: x (*s) -> (*p); prod(p) == prod(s)

    >>> expand_dims(ones(2, 3), (0, -1)).shape
    Size([1, 2, 3, 1])
    """
    count = len(axis) if isinstance(axis, Sequence) else 1
    for k in sorted(many_axes("expand_dims", axis, x.rank + count)):
        x = unsqueeze(x, k)
    return x


@op(inline=True, reference=np.atleast_1d, views=True, complex="parts")
def atleast_1d(x: Node | Sequence[Node], *more: Node) -> Any:
    """x with at least one axis.

    Shapes: x () -> (1); x (n, *s) -> (n, *s)

    >>> atleast_1d(tensor(3)).shape
    Size([1])
    """
    return lifted_all(x, more, 1)


@op(inline=True, reference=np.atleast_2d, views=True, complex="parts")
def atleast_2d(x: Node | Sequence[Node], *more: Node) -> Any:
    """x with at least two axes.

    Shapes: x () -> (1, 1); x (n) -> (1, n); x (n, m, *s) -> (n, m, *s)

    >>> atleast_2d(tensor([1, 2, 3])).shape
    Size([1, 3])
    """
    return lifted_all(x, more, 2)


@op(inline=True, reference=np.atleast_3d, views=True, complex="parts")
def atleast_3d(x: Node | Sequence[Node], *more: Node) -> Any:
    """x with at least three axes.

    Shapes: x () -> (1, 1, 1); x (n) -> (1, n, 1); x (n, m) -> (n, m, 1); x (n, m, l, *s) -> (n, m,
    l, *s)

    >>> atleast_3d(tensor([1, 2, 3])).shape
    Size([1, 3, 1])
    """
    return lifted_all(x, more, 3)


def np_block_diag(*xs: np.ndarray):
    """Compute block_diag with numpy."""
    blocks = [np.atleast_2d(x) for x in xs]
    made = np.zeros(tuple(sum(x.shape[k] for x in blocks) for k in (0, 1)))
    down = across = 0
    for x in blocks:
        made[down : down + x.shape[0], across : across + x.shape[1]] = x
        down, across = down + x.shape[0], across + x.shape[1]
    return made


@op(reference=np_block_diag, complex="formula")
def block_diag(*xs: Node) -> Node:
    """A block diagonal matrix of the given matrices, 0 elsewhere.

    Shapes: xs (?) -> (?)

    >>> block_diag(tensor([[1, 2]]), tensor([[3], [4]]))
    Tensor([[1, 2, 0],
            [0, 0, 3],
            [0, 0, 4]])
    >>> block_diag(ones(1, 2, 3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: block_diag: at most two axes each: got [(1, 2, 3)].
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


def np_cartesian(*xs: np.ndarray) -> np.ndarray:
    """Compute cartesian_prod with numpy."""
    if len(xs) == 1:
        return xs[0]
    return np.stack([v.reshape(-1) for v in np.meshgrid(*xs, indexing="ij")], -1)


@op(
    inline=True,
    reference=np_cartesian,
    complex="formula",
)
def cartesian_prod(*xs: Node) -> Node:
    """The Cartesian product of vectors, one combination of elements per row.

    Shapes: xs (n_k) -> (prod(n_k), len(xs)) if len(xs) > 1 else (prod(n_k))

    >>> cartesian_prod(tensor([1, 2]), tensor([7, 8]))
    Tensor([[1, 7],
            [1, 8],
            [2, 7],
            [2, 8]])
    >>> cartesian_prod(ones(2, 2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: cartesian_prod: needs vectors: got [(2, 2)].
    """
    if any(x.rank != 1 for x in xs):
        raise ShapeError(f"cartesian_prod: needs vectors: got {[x.shape for x in xs]}.")
    if len(xs) == 1:
        return xs[0]
    grids = meshgrid(*xs, indexing="ij")
    return stack([reshape(x, (x.size,)) for x in grids], 1)


@op(
    inline=True,
    reference=lambda x, n=None, increasing=False: np.vander(x, n, increasing),
    complex="formula",
    spelled="N=n",
)
def vander(x: Node, n: int | None = None, increasing: bool = False) -> Node:
    """The powers of a vector's elements as columns, the highest first unless increasing.

    Shapes: x (m) -> (m, m) if n is None else (m, n)

    >>> vander(tensor([2, 3]), 3)
    Tensor([[4, 2, 1],
            [9, 3, 1]])
    >>> vander(tensor([2, 3]), -1)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: vander: gives 0 to 65536 powers: got -1.
    """
    count = number_of_powers(x.size, n)
    dtype = (x * 1).dtype
    powers = [expand(constant(x.arena, 1, dtype), x.shape)]
    if not count:
        return expand(constant(x.arena, 0, dtype), (x.size, 0))
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return stack(powers if increasing else powers[::-1], 1)


def number_of_powers(size: int, n: int | None) -> int:
    """The number of columns of `vander`: n, or the number of elements; raises if out of bounds."""
    count = size if n is None else n
    if not 0 <= count <= MOST_POWERS:
        raise ArgumentError(f"vander: gives 0 to {MOST_POWERS} powers: got {count}.")
    return count
