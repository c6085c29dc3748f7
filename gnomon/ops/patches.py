"""Windows of a plane flattened along one axis, and their transpose, for pooling.

They extract the elements of windows, and sum windows' gradients back to elements. pooling.py uses
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from gnomon.ir.node import Node
from gnomon.ops.primitives import reshape
from gnomon.ops.view_primitives import permute
from gnomon.ops.windows import (
    Cut,
    Pairs,
    Phases,
    all_phases,
    all_stretches,
    check_reach,
    check_steps,
    collected,
    margins,
    nothing,
    padded_axes,
)


def unfold(
    name: str,
    x: Node,
    kernel: Sequence[int],
    pads: Pairs,
    stride: Sequence[int],
    dilation: Sequence[int],
    fill: float,
) -> Node:
    """The windows of x (n, c, ...), each flattened to axis 2: (n, c, elements, *places)."""
    check_reach(name, x, pads, kernel, dilation)
    check_steps(name, stride, dilation)
    x = padded_axes(x, 2, pads, fill)
    windows = all_stretches(x, 2, kernel, stride, dilation)
    last = permute(windows, (0, 1, *range(x.rank, windows.rank), *range(2, x.rank)))
    return reshape(last, (*x.shape[:2], prod(kernel), *windows.shape[2 : x.rank]))


def fold_windows(
    g: Node,
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int],
    share: Callable[[int, Cut], Node],
) -> Node:
    """The transpose of `unfold`: share(k, cut) gives values for the k-th elements of windows.

    What is cut has the places of g last, with the margins of `around`.
    """
    phases = phases_of(x, kernel, stride, padding, dilation)

    def met(taps: Sequence[int], cut: Cut) -> Node:
        flat = 0
        for tap, size in zip(taps, kernel, strict=True):
            flat = flat * size + tap
        return share(flat, cut)

    return collected(nothing(g, 2, len(kernel)), phases, x.shape[2:], met)


def phases_of(
    x: Node, kernel: Sequence[int], stride: Sequence[int], padding: Pairs, dilation: Sequence[int]
) -> Phases:
    """The phases of all spatial axes of x."""
    lows = tuple(low for low, _ in padding)
    return all_phases(x.shape[2:], lows, kernel, (stride, dilation, 1))


def around(
    v: Node,
    x: Node,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Pairs,
    dilation: Sequence[int],
    fill: float,
) -> Node:
    """Values per place (n, c, *places), padded as far as elements of x reach."""
    phases = phases_of(x, kernel, stride, padding, dilation)
    return padded_axes(v, 2, margins(phases, v.shape[2:]), fill)


def tiles(v: Node, x: Node, kernel: Sequence[int], padding: Pairs) -> Node:
    """Values (n, c, elements, *places) of windows without overlap, in the order of x's elements."""
    count, places = len(kernel), v.shape[3:]
    apart = reshape(v, (*v.shape[:2], *kernel, *places))
    order = (axis for k in range(count) for axis in (2 + count + k, 2 + k))
    whole = reshape(
        permute(apart, (0, 1, *order)),
        (*v.shape[:2], *(n * k for n, k in zip(places, kernel, strict=True))),
    )
    rows = zip(padding, x.shape[2:], whole.shape[2:], strict=True)
    return padded_axes(whole, 2, tuple((-low, low + n - m) for (low, _), n, m in rows), 0.0)
