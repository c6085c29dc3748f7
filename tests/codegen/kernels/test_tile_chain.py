"""Chains of a tile's sums: where threads stand, and how many numbers each has."""

from __future__ import annotations

import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.sum_stack import THREADS
from gnomon.codegen.kernels.tile_chain import is_tiled
from gnomon.codegen.kernels.tiled import TiledWriter
from gnomon.codegen.machine import AVX2, CARD, NEON


@pytest.mark.parametrize("tile", [(64, 128), (32, 64), (8, 128)])
def test_a_tile_is_shared_among_all_threads(tile):
    spec = MatmulSpec(
        "float",
        (),
        (Axis(64, a=48, c=64),),
        (Axis(64, b=1, c=1),),
        (Axis(48, a=1, b=64),),
        tile=tile,
    )
    writer = TiledWriter(LLVMModule(), "product", spec, CARD)

    assert writer.high * writer.wide * THREADS == tile[0] * tile[1]
    assert len(writer.empty) == writer.high * writer.wide


def test_only_cards_have_teams():
    assert is_tiled(CARD)
    assert not any(map(is_tiled, (AVX2, NEON)))
