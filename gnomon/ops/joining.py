"""Tensors put together: cat, stack, roll, pad. A join is a choice by position, never a sum.

The gradient of a join is made of slices, not derived from its `where` nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import int64, promote
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import Scalar, cast, elementwise
from gnomon.ops import primitives, view_primitives
from gnomon.ops.arguments import Axes, choice, one_axis
from gnomon.ops.histories import unmoved
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import part


def cat_gradient(g: Node, y: Node, xs: Sequence[Node], axis: int | None = 0) -> tuple[Node, ...]:
    """The gradient of cat: each part's slice of it."""
    if axis is None:
        flat = cat_gradient(g, y, [primitives.reshape(x, (x.size,)) for x in xs], 0)
        return tuple(primitives.reshape(p, x.shape) for p, x in zip(flat, xs, strict=True))
    axis = 0 if y.shape == (0,) else axis
    parts: list[Node] = []
    axis, at = one_axis("cat", axis, y.rank), 0
    for x, shaped in zip(xs, with_equal_axes(xs, axis), strict=True):
        after = at + shaped.shape[axis]
        parts.append(cast(primitives.reshape(part(g, axis, at, after), x.shape), x.dtype))
        at = after
    return tuple(parts)


def np_cat(xs: np.ndarray, axis: int = 0):
    """Compute cat with numpy."""
    return np.concatenate(xs, axis)


@op(
    reference=np_cat,
    gradient=cat_gradient,
    aliases=("concat", "concatenate"),
    complex=("parts", 0),
    joins=True,
)
def cat(xs: Sequence[Node], axis: int | None = 0) -> Node:
    """Concatenate tensors along an axis; None flattens them first.

    Shapes: xs (*a, n_k, *b) -> (*a, sum(n_k), *b)

    >>> cat([tensor([1, 2]), tensor([3])])
    Tensor([1, 2, 3])
    >>> cat([ones(2, 3), ones(3, 2)])
    Traceback (most recent call last):
    gnomon.errors.ShapeError: cat: sizes differ elsewhere than along axis 0: (2, 3) and (3, 2).
    """
    if axis is None:
        return join([primitives.reshape(x, (x.size,)) for x in xs], 0)
    if all(x.shape == (0,) for x in xs):
        axis = 0  # empty vectors stand beside any axes
    xs = with_equal_axes(xs, axis)
    check_parts(xs, axis)
    joined = join(xs, one_axis("cat", axis, xs[0].rank))
    return joined if all(x.size for x in xs) else unmoved(joined, *[x for x in xs if not x.size])


def with_equal_axes(xs: Sequence[Node], axis: int) -> Sequence[Node]:
    """The parts to concatenate; an empty vector gets the other parts' axes, as in PyTorch."""
    most = max((x.shape for x in xs), key=len, default=())
    if len(most) < 2 or all(x.shape != (0,) for x in xs):
        return xs
    place = one_axis("cat", axis, len(most))
    empty = (*most[:place], 0, *most[place + 1 :])
    return [primitives.reshape(x, empty) if x.shape == (0,) else x for x in xs]


def check_parts(xs: Sequence[Node], axis: int) -> None:
    """Refuse parts whose ranks differ, or sizes other than along the axis."""
    if len({x.rank for x in xs}) > 1 or not xs[0].rank:
        raise ShapeError(f"cat: needs equally many axes, at least one: got {shapes(xs)}.")
    axis = one_axis("cat", axis, xs[0].rank)
    if len({x.shape[:axis] + x.shape[axis + 1 :] for x in xs}) > 1:
        raise ShapeError(f"cat: sizes differ elsewhere than along axis {axis}: {shapes(xs)}.")


def shapes(xs: Sequence[Node]) -> str:
    """The shapes as text for a message."""
    return " and ".join(str(x.shape) for x in xs)


def join(xs: Sequence[Node], axis: int) -> Node:
    """Concatenate tensors of any dtypes, by selecting halves: about log2(n) tests per element."""
    kind = xs[0].dtype
    for x in xs[1:]:
        kind = promote(kind, x.dtype)
    return concat([cast(x, kind) for x in xs if x.shape[axis]] or [xs[0]], axis)


def concat(xs: Sequence[Node], axis: int) -> Node:
    """Concatenate tensors of one dtype by halves."""
    if len(xs) == 1:
        return xs[0]
    half = len(xs) // 2
    first, second = concat(xs[:half], axis), concat(xs[half:], axis)
    cut, rest, rank = first.shape[axis], second.shape[axis], first.rank
    none = (0,) * rank
    after = tuple(rest if k == axis else 0 for k in range(rank))
    ahead = tuple(cut if k == axis else 0 for k in range(rank))
    place = first.arena.node("iota", (), size=cut + rest, dtype=int64)
    along_axis = primitives.reshape(
        place, tuple(cut + rest if k == axis else 1 for k in range(rank))
    )
    return where(
        elementwise("lt", along_axis, cut),
        view_primitives.pad(first, none, after),
        view_primitives.pad(second, ahead, none),
    )


@op(inline=True, reference=np.stack, complex=("parts", 0))
def stack(xs: Sequence[Node], axis: int = 0) -> Node:
    """Join tensors of one shape along a new axis.

    Shapes: xs (*a, *b) -> (*a, len(xs), *b)

    >>> stack([tensor([1, 2]), tensor([3, 4])], axis=1)
    Tensor([[1, 3],
            [2, 4]])
    >>> stack([ones(2), ones(3)])
    Traceback (most recent call last):
    gnomon.errors.ShapeError: stack: shapes differ: (2,) and (3,).
    """
    if len({x.shape for x in xs}) > 1:
        raise ShapeError(f"stack: shapes differ: {shapes(xs)}.")
    axis = one_axis("stack", axis, xs[0].rank + 1)
    return cat([primitives.unsqueeze(x, axis) for x in xs], axis)


@op(inline=True, reference=np.hstack, complex=("parts", 0))
def hstack(xs: Sequence[Node]) -> Node:
    """Concatenate along axis 1, or vectors along axis 0.

    Shapes: xs (n, m_k, *s) -> (n, sum(m_k), *s); xs (n_k) -> (sum(n_k))

    >>> hstack([tensor([1, 2]), tensor([3])])
    Tensor([1, 2, 3])
    """
    xs = [x if x.rank else primitives.reshape(x, (1,)) for x in xs]
    return cat(xs, 1 if xs[0].rank > 1 else 0)


@op(inline=True, reference=np.vstack, aliases=("row_stack",), complex=("parts", 0))
def vstack(xs: Sequence[Node]) -> Node:
    """Concatenate along axis 0; vectors become rows.

    Shapes: xs (?) -> (?)

    >>> vstack([tensor([1, 2]), tensor([3, 4])])
    Tensor([[1, 2],
            [3, 4]])
    """
    return cat([x if x.rank > 1 else primitives.reshape(x, (1, x.size)) for x in xs], 0)


@op(inline=True, reference=np.dstack, complex=("parts", 0))
def dstack(xs: Sequence[Node]) -> Node:
    """Concatenate along axis 2; matrices get a third axis.

    Shapes: xs (n, m) -> (n, m, len(xs)); xs (n, m, l_k, *s) -> (n, m, sum(l_k), *s)

    >>> dstack([tensor([[1, 2]]), tensor([[3, 4]])])
    Tensor([[[1, 3],
             [2, 4]]])
    """
    lifted = [primitives.reshape(x, (1, x.size)) if x.rank < 2 else x for x in xs]
    return cat([x if x.rank > 2 else primitives.unsqueeze(x, 2) for x in lifted], 2)


@op(inline=True, reference=np.column_stack, complex=("parts", 0))
def column_stack(xs: Sequence[Node]) -> Node:
    """Concatenate along axis 1; vectors become columns.

    Shapes: xs (?) -> (?)

    >>> column_stack([tensor([1, 2]), tensor([3, 4])])
    Tensor([[1, 3],
            [2, 4]])
    """
    return cat([x if x.rank > 1 else primitives.reshape(x, (x.size, 1)) for x in xs], 1)


def roll_gradient(g: Node, y: Node, x: Node, shift: int | Sequence[int], axis: Axes = None) -> Node:
    """The gradient of roll: rolled back."""
    back = -shift if isinstance(shift, int) else tuple(-k for k in shift)
    return roll(g, back, axis)


@op(
    reference=lambda x, shift, axis=None: np.roll(x, shift, axis),
    gradient=roll_gradient,
    complex="parts",
)
def roll(x: Node, shift: int | Sequence[int], axis: Axes = None) -> Node:
    """Shift elements along axes; those pushed off the end reappear at the start.

    Shapes: x (...) -> (...)

    >>> roll(tensor([1, 2, 3]), 1)
    Tensor([3, 1, 2])
    >>> roll(ones(2, 3), (1, 2), 0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: roll: 2 shifts for 1 axes.
    """
    if axis is None:
        step = shift if isinstance(shift, int) else sum(shift)
        return primitives.reshape(rolled(primitives.reshape(x, (x.size,)), step, 0), x.shape)
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    steps = (shift,) * len(axes) if isinstance(shift, int) else tuple(shift)
    if len(steps) != len(axes):
        raise ArgumentError(f"roll: {len(steps)} shifts for {len(axes)} axes.")
    for step, k in zip(steps, axes, strict=True):
        x = rolled(x, step, one_axis("roll", k, x.rank))
    return x


def rolled(x: Node, step: int, axis: int) -> Node:
    """x rolled along one axis by `step`."""
    size = x.shape[axis]
    cut = -step % size if size else 0
    return join([part(x, axis, cut, size), part(x, axis, 0, cut)], axis)


# padding


def np_pad(x: np.ndarray, pad: Any, mode: Any = "constant", value: Any = 0) -> np.ndarray:
    """Compute pad with numpy, with widths in PyTorch's order."""
    pairs = [(pad[k], pad[k + 1]) for k in range(0, len(pad), 2)]
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    names: dict[str, Any] = {"replicate": "edge", "circular": "wrap"}
    also = {"constant_values": value} if mode == "constant" else {}
    return np.pad(x, widths, names.get(mode, mode), **also)


BORDERS = ("reflect", "replicate", "circular")


@op(reference=np_pad, functional=True, complex="formula")
def pad(x: Node, pad: Sequence[int], mode: str = "constant", value: Scalar | None = None) -> Node:
    """Pad x; pairs (before, after) begin with the last axis.

    Shapes: x (*s) -> (*p); sum(p) == sum(s) + sum(pad)

    mode: "constant", "reflect" (without the edge), "replicate" (the edge), "circular". Negative
    numbers crop.

    >>> pad(tensor([1, 2, 3]), (2, 1))
    Tensor([0, 0, 1, 2, 3, 0])
    >>> pad(tensor([[1, 2, 3]]), (2, 1), mode="reflect")
    Tensor([[3, 2, 1, 2, 3, 2]])
    >>> pad(tensor([1, 2]), (1,))
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: pad: needs two numbers per axis, for 1 axes: got 1.
    """
    choice("pad", "mode", mode, ("constant", *BORDERS))
    if mode != "constant" and value:
        raise ArgumentError(f'pad: mode "{mode}" takes no value: got {value}.')
    if len(pad) % 2 or len(pad) > 2 * x.rank:
        raise ArgumentError(f"pad: needs two numbers per axis, for {x.rank} axes: got {len(pad)}.")
    for place in range(len(pad) // 2):
        axis, low, high = x.rank - 1 - place, pad[2 * place], pad[2 * place + 1]
        if mode == "constant":
            x = padded(x, axis, low, high, 0 if value is None else value)
        else:
            x = continued(x, axis, low, high, mode)
    return x


def padded(x: Node, axis: int, low: int, high: int, value: Scalar) -> Node:
    """Pad one axis with a constant; negative widths cut."""
    start, stop = max(-low, 0), x.shape[axis] - max(-high, 0)
    if start > stop:
        raise ShapeError(f"pad: cuts of {low} and {high} do not fit axis {axis} of {x.shape}.")
    x = part(x, axis, start, stop)
    before, after = (
        tuple(max(n, 0) if k == axis else 0 for k in range(x.rank)) for n in (low, high)
    )
    return view_primitives.pad(x, before, after, value)


def continued(x: Node, axis: int, low: int, high: int, mode: str) -> Node:
    """Pad one axis with its own elements, by a mode; negative widths cut."""
    if min(low, high) < 0:
        # what is cut leaves an edge for a replicate pad to continue
        least = 1 - x.shape[axis] if mode == "replicate" else min(low, high)
        before, after = max(low, least), max(high, least)
        low, high = before + high - after, after + low - before
        x = padded(x, axis, min(low, 0), min(high, 0), 0)
        low, high = max(low, 0), max(high, 0)
    size = x.shape[axis]
    reach: dict[str, int] = dict.fromkeys(BORDERS, 0)
    if size:
        reach = {"reflect": size - 1, "circular": size}
    if max(low, high) > reach.get(mode, max(low, high)):
        raise ShapeError(
            f"pad: {mode} pads of {low} and {high} do not fit axis {axis} of {x.shape}."
        )
    if mode == "reflect":
        before = primitives.flip(part(x, axis, 1, low + 1), axis)
        after = primitives.flip(part(x, axis, size - 1 - high, size - 1), axis)
    elif mode == "circular":
        before, after = part(x, axis, size - low, size), part(x, axis, 0, high)
    else:
        before, after = (
            primitives.expand(edge, (*x.shape[:axis], n, *x.shape[axis + 1 :]))
            for edge, n in ((part(x, axis, 0, 1), low), (part(x, axis, size - 1, size), high))
        )
    return join([before, x, after], axis)
