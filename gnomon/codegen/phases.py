"""The region `slide_back` (gnomon/ops/sliding.py) as products: one per phase, into one result.

Every phase reads the same gradient, by strides of its own, and writes the elements that are its
own; sums have the order that the region's body has.
"""

from __future__ import annotations

from itertools import product
from math import prod

from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.scalar import register
from gnomon.ir.node import Node
from gnomon.ops.canonical import CONTRACTED, leaves
from gnomon.ops.windows import Phase, all_phases, beginnings
from gnomon.schedule.nested import by_strides, row_major, stored


def phase_specs(node: Node) -> tuple[MatmulSpec, ...]:
    """The products of `slide_back`, a transposed convolution: one for each phase of its strides."""
    weight = node.inputs[1]
    _, lows, geometry = node.params["call"].args[2:]
    phases = all_phases(node.shape[2:], lows, weight.shape[2:], geometry)
    begin = beginnings(phases)
    choices = product(*(enumerate(axis) for axis in phases))
    return tuple(spec_of(node, choice, begin) for choice in choices)


def strides_of(x: Node) -> tuple[int, tuple[int, ...]]:
    """An operand's first element and strides in its buffer."""
    found = by_strides(x) if x.rank == 4 else stored(x)
    return found.offset, tuple(axis[0][1] for axis in found.axes)


def spec_of(node: Node, choice: tuple[tuple[int, Phase], ...], begin: list[int]) -> MatmulSpec:
    """The product of one phase; `choice` has a phase's number and its taps, per axis."""
    g, weight = node.inputs
    stride, _, groups = node.params["call"].args[4]
    (at_g, gs), (at_w, ws), cs = strides_of(g), strides_of(weight), row_major(node.shape)
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    summed = outputs * prod(phase.taps[1] for _, phase in choice)
    rows, steps = [Axis(g.shape[0], gs[0], 0, cs[0])], []
    steps.append(Axis(outputs, gs[1], ws[0], 0, leaves(summed, CONTRACTED)))
    start = [at_g, at_w, 0]
    for k, (number, phase) in enumerate(choice):
        one, kernel, goal = gs[2 + k], ws[2 + k], cs[2 + k]
        first, taps, step = phase.taps
        rows.append(Axis(phase.elements, one, 0, stride[k] * goal))
        steps.append(Axis(taps, -phase.gap * one, step * kernel, 0, 0))
        start[0] += (phase.low - begin[k] + phase.gap * (taps - 1)) * one
        start[1] += first * kernel
        start[2] += number * goal
    return MatmulSpec(
        register(node.dtype),
        (Axis(groups, outputs * gs[1], outputs * ws[0], inputs * cs[1]),),
        tuple(rows),
        (Axis(inputs, 0, ws[1], cs[1]),),
        tuple(steps),
        (start[0], start[1], start[2]),
    )
