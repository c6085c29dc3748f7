"""Views of a tensor's elements over other axes.

All are made of view primitives, which become index arithmetic. Parts are in view_parts.py, joining
in joining.py, repeating in repetition.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node, Shape
from gnomon.ops import primitives, view_primitives
from gnomon.ops.arguments import Axes, completed, distinct_axes, many_axes, one_axis, sizes
from gnomon.ops.registry import view


def np_reshape(x: np.ndarray, shape: int | Sequence[int], *more: int) -> np.ndarray:
    """Compute reshape with numpy."""
    return x.reshape(sizes(shape, more))


@view(
    reference=np_reshape,
    aliases=("view",),
    strided=True,
    shown=("view",),
    copies=True,
)
def reshape(x: Node, shape: int | Sequence[int], *more: int) -> Node:
    """Change the shape without changing the elements' order; one size may be -1.

    Shapes: x (*s) -> (*shape)

    >>> reshape(tensor([1, 2, 3, 4]), (2, -1))
    Tensor([[1, 2],
            [3, 4]])
    >>> reshape(ones(2, 3), (4, 2))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: reshape: 6 elements do not fill (4, 2).
    """
    return primitives.reshape(x, completed("reshape", sizes(shape, more), x.size))


@view(
    reference=lambda x, y: x.reshape(y.shape),
    aliases=("view_as",),
    strided=True,
    shown=("view_as",),
)
def reshape_as(x: Node, y: Node) -> Node:
    """x in the shape of y.

    Shapes: x (*s), y (*t) -> (*t); prod(s) == prod(t)

    >>> reshape_as(arange(4), ones(2, 2))
    Tensor([[0, 1],
            [2, 3]])
    """
    return reshape(x, y.shape)


def np_permute(x: np.ndarray, axes: int | Sequence[int], *more: int) -> np.ndarray:
    """Compute permute with numpy."""
    return np.transpose(x, sizes(axes, more))


@view(
    reference=np_permute,
    aliases=("permute_dims",),
)
def permute(x: Node, axes: int | Sequence[int], *more: int) -> Node:
    """Reorder the axes.

    Shapes: x (*s) -> (*p); sorted(p) == sorted(s)

    >>> permute(ones(2, 3, 4), (2, 0, 1)).shape
    Size([4, 2, 3])
    >>> permute(ones(2, 3), (0, 0))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: permute: needs each of the 2 axes once: got (0, 0).
    """
    order = tuple(one_axis("permute", k, x.rank) for k in sizes(axes, more))
    if sorted(order) != list(range(x.rank)):
        raise ShapeError(f"permute: needs each of the {x.rank} axes once: got {order}.")
    return view_primitives.permute(x, order)


@view(
    reference=np.swapaxes,
    aliases=("swapaxes", "swapdims"),
    reshapes=("transpose", "swapaxes", "swapdims"),
)
def transpose(x: Node, dim0: int, dim1: int) -> Node:
    """Exchange two axes.

    Shapes: x (*a, n, *b, m, *c) -> (*a, m, *b, n, *c)

    >>> transpose(tensor([[1, 2], [3, 4]]), 0, 1)
    Tensor([[1, 3],
            [2, 4]])
    """
    order = list(range(x.rank))
    a, b = (one_axis("transpose", k, x.rank) for k in (dim0, dim1))
    if x.rank:
        order[a], order[b] = order[b], order[a]
    return view_primitives.permute(x, tuple(order))


@view(reference=lambda x: np.swapaxes(x, -1, -2), linalg=True)
def matrix_transpose(x: Node) -> Node:
    """Exchange the last two axes.

    Shapes: x (..., n, m) -> (..., m, n)

    >>> matrix_transpose(ones(5, 2, 3)).shape
    Size([5, 3, 2])
    >>> matrix_transpose(ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: matrix_transpose: needs two axes: got (3,).
    """
    if x.rank < 2:
        raise ShapeError(f"matrix_transpose: needs two axes: got {x.shape}.")
    return transpose(x, -1, -2)


@view(reference=lambda x: np.swapaxes(x, -1, -2), complex="turned")
def adjoint(x: Node) -> Node:
    """Exchange the last two axes and conjugate complex elements.

    Shapes: x (..., n, m) -> (..., m, n)

    >>> adjoint(ones(5, 2, 3)).shape
    Size([5, 3, 2])
    """
    return matrix_transpose(x)


@view(reference=np.transpose, reshapes=("t",))
def t(x: Node) -> Node:
    """Transpose a matrix; a vector stays as it is.

    Shapes: x (n, m) -> (m, n); x (n) -> (n)

    >>> t(tensor([[1, 2, 3]]))
    Tensor([[1],
            [2],
            [3]])
    >>> t(ones(2, 3, 4))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: t: at most two axes: got (2, 3, 4). Use x.mT.
    """
    if x.rank > 2:
        raise ShapeError(f"t: at most two axes: got {x.shape}. Use x.mT.")
    return transpose(x, 0, 1) if x.rank == 2 else x


@view(reference=lambda x, a, b: np.moveaxis(x, a, b), aliases=("moveaxis",))
def movedim(x: Node, source: int | Sequence[int], destination: int | Sequence[int]) -> Node:
    """Move axes to other positions; the others keep their order.

    Shapes: x (*s) -> (*p); sorted(p) == sorted(s)

    >>> movedim(ones(2, 3, 4), 0, -1).shape
    Size([3, 4, 2])
    >>> movedim(ones(2, 3), (0, 1), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: movedim: 2 axes to 1 places.
    """
    old, new = (distinct_axes("movedim", v, x.rank) for v in (source, destination))
    if len(old) != len(new):
        raise ArgumentError(f"movedim: {len(old)} axes to {len(new)} places.")
    order: list[int | None] = [None] * x.rank
    for a, b in zip(old, new, strict=True):
        order[b] = a
    rest = iter(k for k in range(x.rank) if k not in old)
    return view_primitives.permute(x, tuple(next(rest) if k is None else k for k in order))


def refuse_wide_axes(x: Node, axis: Axes = ()) -> None:
    """Refuse to remove axes that are not of size 1."""
    larger = [k for k in many_axes("squeeze", axis, x.rank) if x.shape[k] != 1]
    if larger:
        raise ShapeError(
            f"squeeze: axes {larger} of {x.shape} are not of size 1. "
            "Name those that are, or use x.squeeze()."
        )


@view(
    reference=lambda x, axis=None: np.squeeze(x, axis),
    reshapes=("squeeze",),
    refuses=refuse_wide_axes,
)
def squeeze(x: Node, axis: Axes = None) -> Node:
    """Remove axes of size 1: all of them, or those among the given axes.

    Shapes: x (*s) -> (*p); prod(p) == prod(s)

    >>> squeeze(ones(1, 3, 1)).shape
    Size([3])
    >>> squeeze(ones(1, 3, 1), 0).shape
    Size([3, 1])
    >>> squeeze(ones(2, 3), 5)
    Traceback (most recent call last):
    gnomon.errors.AxisError: squeeze: no axis 5 in a tensor of 2 axes.
    """
    gone = [k for k in many_axes("squeeze", axis, x.rank) if x.shape[k] == 1]
    return primitives.reshape(x, tuple(n for k, n in enumerate(x.shape) if k not in gone))


@view(reference=np.expand_dims, reshapes=("unsqueeze",))
def unsqueeze(x: Node, axis: int = 0) -> Node:
    """Insert an axis of size 1 at a position of the result.

    Shapes: x (*a, *b) -> (*a, 1, *b)

    >>> unsqueeze(tensor([1, 2]), 1)
    Tensor([[1],
            [2]])
    """
    return primitives.unsqueeze(x, one_axis("unsqueeze", axis, x.rank + 1))


@view(reference=lambda x: x.reshape(-1), aliases=("ravel",), strided=True, flat=("ravel",))
def flatten(x: Node, start_dim: int = 0, end_dim: int = -1) -> Node:
    """Merge a range of axes into one.

    Shapes: x (*a, *s, *b) -> (*a, prod(s), *b)

    >>> flatten(ones(2, 3, 4), 1).shape
    Size([2, 12])
    >>> flatten(ones(2, 3, 4), 2, 1)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: flatten: start_dim 2 comes after end_dim 1.
    """
    if not x.rank:
        return primitives.reshape(x, (1,))
    first, last = (one_axis("flatten", k, x.rank) for k in (start_dim, end_dim))
    if first > last:
        raise ArgumentError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}.")
    middle = 1
    for n in x.shape[first : last + 1]:
        middle *= n
    return primitives.reshape(x, (*x.shape[:first], middle, *x.shape[last + 1 :]))


@view(
    reference=lambda x, axis, shape: x.reshape(x.shape[:axis] + shape + x.shape[axis + 1 :]),
    spelled="sizes=shape",
)
def unflatten(x: Node, axis: int, shape: Sequence[int]) -> Node:
    """Split one axis into several; one size may be -1.

    Shapes: x (*a, n, *b) -> (*a, *shape, *b)

    >>> unflatten(ones(2, 6), 1, (3, -1)).shape
    Size([2, 3, 2])
    """
    axis = one_axis("unflatten", axis, x.rank)
    split = completed("unflatten", tuple(shape), x.shape[axis])
    return primitives.reshape(x, (*x.shape[:axis], *split, *x.shape[axis + 1 :]))


# growing


def grown(name: str, x: Node, shape: Shape) -> Shape:
    """A shape to expand to, with -1 replaced by the size that it keeps."""
    if len(shape) < x.rank:
        raise ShapeError(f"{name}: {x.shape} has more axes than {shape}.")
    own = (*(1,) * (len(shape) - x.rank), *x.shape)
    if -1 in shape[: len(shape) - x.rank]:
        raise ShapeError(f"{name}: -1 keeps a size of {x.shape}, and {shape} has it in front.")
    wanted = tuple(m if n == -1 else n for n, m in zip(shape, own, strict=True))
    if any(m not in (1, n) for n, m in zip(wanted, own, strict=True)):
        raise ShapeError(f"{name}: only axes of size 1 can grow: {x.shape} to {shape}.")
    return wanted


def np_expand(x: np.ndarray, shape: int | Sequence[int], *more: int) -> np.ndarray:
    """Compute expand with numpy."""
    return np.broadcast_to(x, sizes(shape, more))


@view(
    reference=np_expand,
    aliases=("broadcast_to",),
)
def expand(x: Node, shape: int | Sequence[int], *more: int) -> Node:
    """Repeat x along axes of size 1 and along new leading axes; -1 keeps a size.

    Shapes: x (*s) -> (*shape)

    >>> expand(tensor([[1], [2]]), (2, 3))
    Tensor([[1, 1, 1],
            [2, 2, 2]])
    >>> expand(ones(2), (3, 3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: expand: only axes of size 1 can grow: (2,) to (3, 3).
    """
    return primitives.expand(x, grown("expand", x, sizes(shape, more)))


@view(reference=lambda x, y: np.broadcast_to(x, y.shape))
def expand_as(x: Node, y: Node) -> Node:
    """Expand x to the shape of y.

    Shapes: x (*s), y (*t) -> (*t)

    >>> expand_as(tensor([1, 2]), ones(2, 2))
    Tensor([[1, 2],
            [1, 2]])
    """
    return primitives.expand(x, grown("expand_as", x, y.shape))
