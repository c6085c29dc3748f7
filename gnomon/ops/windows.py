"""Windows of axes and their transposes, for convolution and pooling.

Windows that neither overlap nor leave gaps are a reshape, whose gradient is one too. Otherwise
elements sum their windows' gradients, in phases: elements that are a stride apart meet the same
part of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from math import gcd
from typing import NamedTuple

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import constant
from gnomon.ops.facts import Claim
from gnomon.ops.joining import stack
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.registry import internal
from gnomon.ops.view_parts import part
from gnomon.ops.view_primitives import pad, permute, window

Pairs = tuple[tuple[int, int], ...]
Geometry = tuple[Sequence[int], Sequence[int], int]
"""Stride and dilation per axis, and the number of groups."""
MOST_STEPS = 1 << 31
"""The bound of strides and dilations, as in PyTorch."""


def stretches(x: Node, axis: int, size: int, stride: int, dilation: int) -> Node:
    """The windows y[..., i, ..., j] = x[..., i · stride + j · dilation, ...], j a new axis."""
    if size != stride or dilation != 1 or size > x.shape[axis]:
        return window(x, axis, size, stride, dilation)
    steps = x.shape[axis] // size
    whole = part(x, axis, 0, steps * size)
    cut = reshape(whole, (*x.shape[:axis], steps, size, *x.shape[axis + 1 :]))
    return permute(cut, (*(k for k in range(cut.rank) if k != axis + 1), axis + 1))


def all_stretches(
    x: Node, first: int, sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Node:
    """The windows of several axes from `first` on, with their new axes last, in order."""
    for k, (size, step, gap) in enumerate(zip(sizes, stride, dilation, strict=True)):
        x = stretches(x, first + k, size, step, gap)
    return x


def padded_axes(x: Node, first: int, pairs: Pairs, value: float) -> Node:
    """Pad several axes from `first` on with a constant; negative widths cut."""
    for k, (low, high) in enumerate(pairs):
        x = part(x, first + k, max(-low, 0), x.shape[first + k] - max(-high, 0))
    rest = x.rank - first - len(pairs)
    before, after = (
        (0,) * first + tuple(max(p[k], 0) for p in pairs) + (0,) * rest for k in (0, 1)
    )
    return pad(x, before, after, value)


def zero_padded(x: Node, pairs: Pairs, apart: bool = False) -> Node:
    """Pad the last axes with zeros, by a region that a kernel claims; negative widths cut.

    `apart`: another region than the same padding's elsewhere, so that none is kept for both.
    """
    first = x.rank - len(pairs)
    low, high = (tuple(max(p[k], 0) for p in pairs) for k in (0, 1))
    x = padded_axes(x, first, tuple((min(a, 0), min(b, 0)) for a, b in pairs), 0.0)
    return zero_padding(x, low, high, apart=apart) if any((*low, *high)) else x


@internal(claim=Claim("zero_padding"))
def zero_padding(x: Node, low: Sequence[int], high: Sequence[int], *, apart: bool = False) -> Node:
    """Pad the last axes with zeros."""
    return padded_axes(x, x.rank - len(low), tuple(zip(low, high, strict=True)), 0.0)


def check_steps(name: str, stride: Sequence[int], dilation: Sequence[int]) -> None:
    """Refuse strides and dilations that PyTorch cannot represent."""
    if max(*stride, *dilation) >= MOST_STEPS:
        raise ArgumentError(
            f"{name}: strides and dilations are below 2 ** 31: got {tuple(stride)} and "
            f"{tuple(dilation)}."
        )


def check_reach(
    name: str, x: Node, padding: Pairs, sizes: Sequence[int], dilation: Sequence[int]
) -> None:
    """Refuse a kernel that is larger than the padded x, which is (n, c, ...)."""
    rows = zip(x.shape[2:], padding, sizes, dilation, strict=True)
    if any((size - 1) * gap + 1 > n + low + high for n, (low, high), size, gap in rows):
        raise ShapeError(
            f"{name}: a kernel of {tuple(sizes)} with dilation {tuple(dilation)} does not fit into "
            f"x {x.shape} with padding {padding}."
        )


# the transpose of windows: every element collects what its windows have for it


class Phase(NamedTuple):
    """Every stride-th element of an axis, with the taps and places of windows that have it."""

    elements: int
    """The number of elements."""
    taps: tuple[int, int, int]
    """The taps of the kernel: the first, their number, their step."""
    low: int
    """The first place whose window has the first element, at the last tap."""
    gap: int
    """The number of places between those of two neighbouring taps."""

    @property
    def reach(self) -> int:
        """The number of places that the phase reads from `low` on."""
        return self.elements + self.gap * (self.taps[1] - 1)


def phases(size: int, low: int, kernel: int, stride: int, dilation: int) -> list[Phase]:
    """The phases of an axis, whose element i met tap u at place (i + low - u dilation) / stride.

    >>> [(p.elements, p.taps, p.low) for p in phases(5, 1, 3, 2, 1)]
    [(3, (1, 1, 2), 0), (2, (0, 2, 2), 0)]
    """
    shared = gcd(stride, dilation)
    step, gap = stride // shared, dilation // shared
    found: list[Phase] = []
    for start in range(stride if size >= stride else size):
        fitting = (u for u in range(min(step, kernel)) if not (start + low - u * dilation) % stride)
        first = next(fitting, kernel)
        taps = len(range(first, kernel, step))
        place = (start + low - first * dilation) // stride - gap * (taps - 1)
        found.append(Phase(-((start - size) // stride), (first, taps, step), place, gap))
    return found


Phases = Sequence[Sequence[Phase]]
"""The phases of every axis."""


def all_phases(
    size: Sequence[int], lows: Sequence[int], kernel: Sequence[int], geometry: Geometry
) -> Phases:
    """The phases of every axis of an input of this size, which had `lows` of padding in front."""
    rows = zip(size, lows, kernel, *geometry[:2], strict=True)
    return [phases(*row) for row in rows]


def beginnings(phases: Phases) -> list[int]:
    """The first place that any phase reads, along each axis."""
    return [min((p.low for p in axis if p.taps[1]), default=0) for axis in phases]


def margins(phases: Phases, places: Sequence[int]) -> Pairs:
    """The padding after which all places that phases read exist."""
    ends = [max((p.low + p.reach for p in axis if p.taps[1]), default=0) for axis in phases]
    rows = zip(beginnings(phases), ends, places, strict=True)
    return tuple((-low, high - n) for low, high, n in rows)


Cut = Callable[[Node], Node]
"""A function from a tensor over padded places to the part that a phase reads at one tap."""


def collected(
    lead: Node, phases: Phases, size: Sequence[int], met: Callable[[Sequence[int], Cut], Node]
) -> Node:
    """The sum for each element over the windows that have it, in ascending order of taps.

    met(tap, cut) is what elements get from the windows in which they are at this tap. The axes of
    places, which become those of the result, are the last of what is cut; `lead` is what all
    elements begin with: nothing, for phases that meet no window.
    """
    parts: list[Node] = []
    begin = beginnings(phases)
    for chosen in product(*phases):
        total = None
        for number in product(*(range(p.taps[1]) for p in chosen)):
            taps = [p.taps[0] + m * p.taps[2] for p, m in zip(chosen, number, strict=True)]
            value = met(taps, partial(at_tap, chosen, number, begin))
            total = value if total is None else total + value
        if total is None:
            total = expand(
                lead, (*lead.shape[: lead.rank - len(phases)], *(p.elements for p in chosen))
            )
        parts.append(total)
    return interleaved_phases(parts, phases, size)


def nothing(g: Node, lead: int, count: int) -> Node:
    """Zeros in the dtype of g, with its first axes and `count` axes of size 1."""
    shape = (*g.shape[:lead], *(1,) * count)
    return expand(constant(g.arena, 0, g.dtype), shape)


def at_tap(chosen: Sequence[Phase], number: Sequence[int], begin: Sequence[int], x: Node) -> Node:
    """The places that elements of a phase read at the taps of these numbers."""
    for k, (phase, m, low) in enumerate(zip(chosen, number, begin, strict=True)):
        start = phase.low - low + (phase.taps[1] - 1 - m) * phase.gap
        x = part(x, x.rank - len(chosen) + k, start, start + phase.elements)
    return x


def interleaved_phases(parts: Sequence[Node], phases: Phases, size: Sequence[int]) -> Node:
    """The phases of the last axes interleaved: element i of an axis is in phase i % n."""
    return parts[0] if len(parts) == 1 else interleave(parts, tuple(map(len, phases)), tuple(size))


@internal(claim=Claim("interleave"))
def interleave(parts: Sequence[Node], steps: Sequence[int], size: Sequence[int]) -> Node:
    """Interleave tensors along the last axes, which get these sizes; a kernel claims it."""
    first = parts[0].rank - len(steps)
    for axis, step in reversed(list(enumerate(steps))):
        runs = [parts[k : k + step] for k in range(0, len(parts), step)]
        parts = [interleaved(run, first + axis, size[axis]) for run in runs]
    return parts[0]


def interleaved(parts: Sequence[Node], axis: int, size: int) -> Node:
    """Interleave tensors along one axis."""
    if len(parts) == 1:
        return parts[0]
    longest = parts[0].shape[axis]
    even = [padded_axes(x, axis, ((0, longest - x.shape[axis]),), 0.0) for x in parts]
    beside = stack(even, axis + 1)
    shape = (*beside.shape[:axis], longest * len(parts), *beside.shape[axis + 2 :])
    return part(reshape(beside, shape), axis, 0, size)


def add_stretches(
    g: Node, first: int, sizes: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Node:
    """The transpose of all_stretches: every element added back to its position.

    `sizes` are those of the axes that were stretched: all from `first` on.
    """
    count = len(sizes)
    kernel, places = g.shape[g.rank - count :], g.shape[first : first + count]
    phases = all_phases(sizes, (0,) * count, kernel, (stride, dilation, 1))
    order = (*range(first), *range(g.rank - count, g.rank), *range(first, first + count))
    around = padded_axes(permute(g, order), first + count, margins(phases, places), 0.0)

    def met(taps: Sequence[int], cut: Cut) -> Node:
        x = around
        for k, tap in enumerate(taps):
            x = part(x, first + k, tap, tap + 1)
        return cut(reshape(x, (*x.shape[:first], *x.shape[first + count :])))

    return collected(nothing(g, first, count), phases, sizes, met)
