"""The transpose of a strided convolution as one product per phase."""

from __future__ import annotations

from math import prod

import pytest

from gnomon.codegen.calls import is_claimed
from gnomon.codegen.phases import phase_specs
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Node
from gnomon.ops.sliding import spread_back

pytestmark = pytest.mark.unit


def transposed(channels: int) -> Node:
    """A gradient (2, 12, 4, 5) spread back over a kernel of 3 by 2 with strides 2 and 3."""
    arena = Arena()
    g, w = arena.input((2, 12, 4, 5), float32), arena.input((12, channels, 3, 2), float32)
    return spread_back(g, w, (8, 15), ((1, 0), (0, 0)), ((2, 3), (1, 1), 1))


def test_phases_write_every_element_once():
    specs = phase_specs(transposed(9))

    written = [
        spec.starts[2] + sum(axis.c * (axis.size - 1) for axis in (*spec.rows, *spec.columns))
        for spec in specs
    ]
    assert len(specs) == 2 * 3
    assert sum(prod(a.size for a in (*s.rows, *s.columns)) for s in specs) == 2 * 9 * 8 * 15
    assert max(written) == 2 * 9 * 8 * 15 - 1


def test_each_phase_sums_over_its_own_part_of_the_kernel():
    taps = [prod(axis.size for axis in spec.steps[1:]) for spec in phase_specs(transposed(9))]

    assert sum(taps) == 3 * 2
    assert 0 in taps, "a stride larger than the kernel leaves gaps"


def test_few_channels_are_left_to_the_body():
    assert is_claimed(transposed(9))
    assert not is_claimed(transposed(3))
