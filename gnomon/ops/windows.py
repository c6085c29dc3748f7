"""Stretches of axes, overlapping or not: what convolution and pooling are made of.

Stretches that neither overlap nor leave gaps are a reshape, whose gradient is one too.
"""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.errors import ShapeError
from gnomon.ir.node import PRIMITIVES, Node
from gnomon.ir.operators import constant
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.view_primitives import pad, permute, window
from gnomon.ops.views import part

Pairs = tuple[tuple[int, int], ...]


def stretches(x: Node, axis: int, size: int, stride: int, dilation: int) -> Node:
    """y[..., i, ..., j] = x[..., i · stride + j · dilation, ...]; j is a new last axis."""
    if size != stride or dilation != 1 or size > x.shape[axis]:
        return window(x, axis, size, stride, dilation)
    steps = x.shape[axis] // size
    whole = part(x, axis, 0, steps * size)
    cut = reshape(whole, (*x.shape[:axis], steps, size, *x.shape[axis + 1 :]))
    return permute(cut, (*(k for k in range(cut.rank) if k != axis + 1), axis + 1))


def all_stretches(
    x: Node, first: int, sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Node:
    """Stretches of several axes from `first` on; their new axes come last, in order."""
    for k, (size, step, gap) in enumerate(zip(sizes, stride, dilation, strict=True)):
        x = stretches(x, first + k, size, step, gap)
    return x


def laid_back(
    g: Node, first: int, sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Node:
    """The transpose of all_stretches: every element added back to where it was taken from.

    `sizes` are those of the axes that were stretched.
    """
    for k in reversed(range(len(sizes))):
        axis, reach = first + k, g.shape[-1]
        shape = (*g.shape[:axis], sizes[k], *g.shape[axis + 1 : -1])
        blank = expand(constant(g.arena, 0, g.dtype), shape)
        taken = blank.arena.node(
            "window", (blank,), axis=axis, size=reach, stride=stride[k], dilation=dilation[k]
        )
        (g,) = PRIMITIVES["window"].gradient(taken, g, (True,))
    return g


def padded_axes(x: Node, first: int, pairs: Pairs, value: float) -> Node:
    """A constant around several axes from `first` on; negative widths cut."""
    for k, (low, high) in enumerate(pairs):
        x = part(x, first + k, max(-low, 0), x.shape[first + k] - max(-high, 0))
    rest = x.rank - first - len(pairs)
    ends = [(0,) * first + tuple(max(p[k], 0) for p in pairs) + (0,) * rest for k in (0, 1)]
    return pad(x, *ends, value)


def check_reach(
    name: str, x: Node, padding: Pairs, sizes: Sequence[int], dilation: Sequence[int]
) -> None:
    """Refuse a kernel that is larger than what it slides over; x is (n, c, ...)."""
    rows = zip(x.shape[2:], padding, sizes, dilation, strict=True)
    if any((size - 1) * gap + 1 > n + low + high for n, (low, high), size, gap in rows):
        raise ShapeError(
            f"{name}: a kernel of {tuple(sizes)} with dilation {tuple(dilation)} does not fit into "
            f"x {x.shape} with padding {padding}."
        )
