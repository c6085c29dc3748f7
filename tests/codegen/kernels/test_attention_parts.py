"""The description of attention, and the tile that both of its kernels use."""

from __future__ import annotations

import pytest

from gnomon.codegen.kernels.attention_parts import BLOCK_QUERIES, score_tile
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.heads import Sizes, spec_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("scalar", ["float", "double"])
def test_panels_divide_a_block_of_queries(machine, scalar):
    assert BLOCK_QUERIES % score_tile(machine, scalar).columns == 0


def test_blocks_of_queries_are_counted_within_leaves():
    spec = spec_of(Sizes(t=264, s=264, h=4, g=2), True, (2, 2))

    assert (spec.leaf, spec.blocks_per_leaf, spec.query_blocks) == (132, 2, 4)
    assert (spec.group, spec.pairs, spec.key_blocks) == (2, 2, 3)
