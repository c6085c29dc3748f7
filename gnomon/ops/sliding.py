"""Windows of an image times a kernel, over one, two and three axes: products and their transposes.

The summed axis is one: channels and kernel (or the positions of a plane, for the kernel's gradient)
flattened, so that a sum is one chain per leaf. The gradient of the input is a sum over windows of
the output's gradient, so that every element gathers its own terms; with strides, the elements that
meet the same part of the kernel are convolved together. convolution.py has the public operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from gnomon.dtypes import accumulator
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant
from gnomon.ops.facts import Claim
from gnomon.ops.primitives import contract, expand, reduce, reshape
from gnomon.ops.registry import internal
from gnomon.ops.view_parts import flip, part
from gnomon.ops.view_primitives import permute
from gnomon.ops.windows import (
    Geometry,
    Pairs,
    Phase,
    all_phases,
    beginnings,
    interleaved_phases,
    margins,
    padded_axes,
    stretches,
    zero_padded,
)

PLACES, KERNEL = "xyz", "uvw"


# the product


def regroup(x: Node, axis: int, groups: int) -> Node:
    """An axis reshaped to (groups, size / groups); unchanged for one group."""
    if groups == 1:
        return x
    return reshape(x, (*x.shape[:axis], groups, x.shape[axis] // groups, *x.shape[axis + 1 :]))


def windows_of(x: Node, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]):
    """The windows (n, c, *kernel, *places) of x (n, c, *s), without kernel axes of size 1."""
    first = x.rank
    for k, (size, step, gap) in enumerate(zip(kernel, stride, dilation, strict=True)):
        if size == 1:
            x = part(x, 2 + k, 0, x.shape[2 + k], step)
        else:
            x = stretches(x, 2 + k, size, step, gap)
    return permute(x, (0, 1, *range(first, x.rank), *range(2, first)))


def split(groups: int) -> tuple[tuple[int, ...], str]:
    """The axis of groups and its letter; empty for one group."""
    return ((groups,), "g") if groups > 1 else ((), "")


def convolved(x: Node, weight: Node, geometry: Geometry) -> Node:
    """Contract the windows of padded x with the kernel, in the accumulator's dtype."""
    stride, dilation, groups = geometry
    windows = windows_of(x, weight.shape[2:], stride, dilation)
    return contracted(windows, weight, weight.rank - 2, groups)


def contracted(windows: Node, weight: Node, count: int, groups: int) -> Node:
    """Windows (n, c, *kernel, *places) with kernels (o, c / groups, *kernel), summed per place."""
    lead, g = split(groups)
    n, outputs, places = windows.shape[0], weight.shape[0], windows.shape[windows.rank - count :]
    inner, letters = prod(weight.shape[1:]), PLACES[:count]
    kind = accumulator(windows.dtype)
    y = contract(
        f"n{g}k{letters},{g}ok->n{g}o{letters}",
        reshape(windows, (n, *lead, inner, *places)),
        reshape(weight, (*lead, outputs // groups, inner)),
        kind,
    )
    return reshape(y, (n, outputs, *places))


def kernel_gradient(g: Node, x: Node, weight: Node, geometry: Geometry) -> Node:
    """The gradient of the kernel: windows of padded x times g, over samples and places."""
    stride, dilation, groups = geometry
    lead, letter = split(groups)
    windows = windows_of(x, weight.shape[2:], stride, dilation)
    for k, n in enumerate(g.shape[2:]):
        windows = part(windows, windows.rank - g.rank + 2 + k, 0, n)
    if groups == g.shape[1] > 1 == weight.shape[1]:
        return depthwise_gradient(g, windows, weight)
    samples, places, inner = g.shape[0], prod(g.shape[2:]), prod(weight.shape[1:])
    made = contract(
        f"n{letter}op,n{letter}kp->{letter}ok",
        reshape(g, (samples, *lead, weight.shape[0] // groups, places)),
        reshape(windows, (samples, *lead, inner, places)),
        accumulator(x.dtype),
    )
    return cast(reshape(made, weight.shape), weight.dtype)


def depthwise_gradient(g: Node, windows: Node, weight: Node) -> Node:
    """The kernel's gradient if each channel meets only itself: sums over planes, no matrices.

    The sum runs over a plane's rows first, then along a row, then over samples.
    """
    count, kind = g.rank - 2, accumulator(g.dtype)
    flat = reshape(windows, (*g.shape[:2], prod(weight.shape[1:]), *g.shape[2:]))
    total = cast(flat, kind) * cast(reshape(g, (*g.shape[:2], 1, *g.shape[2:])), kind)
    for _ in range(count):
        total = reduce("add", total, (3,), kind)
    return cast(reshape(reduce("add", total, (0,), kind), weight.shape), weight.dtype)


# the transpose


def spread_back(
    g: Node, weight: Node, size: Sequence[int], padding: Pairs, geometry: Geometry
) -> Node:
    """The transpose of `convolved`: from places to an input of this size, without padding."""
    stride, dilation, groups = geometry
    kernel = weight.shape[2:]
    if 0 in (*size, *g.shape[2:]):
        shape = (g.shape[0], weight.shape[1] * groups, *size)
        return expand(constant(g.arena, 0.0, accumulator(g.dtype)), shape)
    if tuple(kernel) == tuple(stride) and max(dilation) == 1:
        whole = tiled(g, weight, groups)
        ends = zip(size, padding, whole.shape[2:], strict=True)
        return padded_axes(whole, 2, tuple((-low, low + n - m) for n, (low, _), m in ends), 0.0)
    lows = tuple(low for low, _ in padding)
    phases = all_phases(size, lows, kernel, geometry)
    around = zero_padded(g, margins(phases, g.shape[2:]))
    made = slid_back if prod(map(len, phases)) == 1 else slide_back
    return made(around, weight, tuple(size), lows, (tuple(stride), tuple(dilation), groups))


def tiled(g: Node, weight: Node, groups: int) -> Node:
    """The transpose if windows neither overlap nor leave gaps: each place fills its own tile."""
    count = g.rank - 2
    places, inner, letter = PLACES[:count], KERNEL[:count], "g" if groups > 1 else ""
    pairs = "".join(a + b for a, b in zip(places, inner, strict=True))
    y = contract(
        f"n{letter}o{places},{letter}oc{inner}->n{letter}c{pairs}",
        regroup(g, 1, groups),
        regroup(weight, 0, groups),
        accumulator(g.dtype),
    )
    sizes = [n * k for n, k in zip(g.shape[2:], weight.shape[2:], strict=True)]
    return reshape(y, (g.shape[0], weight.shape[1] * groups, *sizes))


def slid_back(
    g: Node, weight: Node, size: Sequence[int], lows: Sequence[int], geometry: Geometry
) -> Node:
    """The general transpose: one convolution per phase, with phases interleaved.

    g is padded already.
    """
    swapped = swap(weight, geometry[2])
    phases = all_phases(size, lows, weight.shape[2:], geometry)
    first = beginnings(phases)
    parts = [of_phase(g, swapped, chosen, first, geometry[2]) for chosen in product(*phases)]
    return interleaved_phases(parts, phases, size)


@internal(claim=Claim("slide_back", strided=(4,)))
def slide_back(
    g: Node, weight: Node, size: Sequence[int], lows: Sequence[int], geometry: Geometry
) -> Node:
    """The general transpose of several phases, as a region that a kernel claims."""
    return slid_back(g, weight, size, lows, geometry)


def of_phase(
    g: Node, weight: Node, chosen: Sequence[Phase], begin: Sequence[int], groups: int
) -> Node:
    """The elements of one phase; the places in g begin at `begin`."""
    counts = tuple(p.elements for p in chosen)
    if not all(p.taps[1] for p in chosen):
        zero = constant(g.arena, 0.0, accumulator(g.dtype))
        return expand(zero, (g.shape[0], weight.shape[0], *counts))
    for k, (phase, low) in enumerate(zip(chosen, begin, strict=True)):
        g = part(g, 2 + k, phase.low - low, phase.low - low + phase.reach)
        first, taps, step = phase.taps
        weight = part(weight, 2 + k, first, first + (taps - 1) * step + 1, step)
    kernel, rank = weight.shape[2:], g.rank
    windows = windows_of(g, kernel, (1,) * len(kernel), [p.gap for p in chosen])
    turned = flip(windows, tuple(range(2, windows.rank - (rank - 2))))
    return contracted(turned, weight, rank - 2, groups)


def swap(weight: Node, groups: int) -> Node:
    """The kernel with its output and input channels exchanged within each group."""
    outputs, inputs, kernel = weight.shape[0], weight.shape[1], weight.shape[2:]
    split = reshape(weight, (groups, outputs // groups, inputs, *kernel))
    order = (0, 2, 1, *range(3, split.rank))
    return reshape(permute(split, order), (groups * inputs, outputs // groups, *kernel))
