"""The cut of a product respects registers and chunks."""

from __future__ import annotations

from itertools import product

import pytest

from gnomon.codegen.kernels.blocking import (
    all_tiles,
    best_tile,
    choose_tile,
    cut_k,
    fits,
    numbers_of_tile,
    panel_tile,
    plan,
    scratch_parts,
)
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.steps import FUSED
from gnomon.codegen.machine import AVX2, AVX512, COMMON, NEON, Machine
from tests.processors import PROCESSORS

pytestmark = pytest.mark.unit

LETTERS = [
    [(384, 2)],
    [(1283, 1)],
    [(2048, 16)],
    [(16, 16), (256, 2)],
    [(5, 1), (3, 1)],
    [(4099, 1)],
]


@pytest.mark.parametrize("letters", LETTERS, ids=str)
@pytest.mark.parametrize("item", [4, 8])
def test_blocks_hold_whole_chunks_or_a_piece_of_one(letters, item):
    blocks = cut_k(letters, item)

    assert blocks.pieces == 1 or blocks.chunks == 1
    assert blocks.piece * blocks.chunks <= 2048 // item
    assert blocks.before[0] == 0
    assert blocks.before[-1] == 1
    assert blocks.count == -(-len(blocks.pops) // blocks.chunks)


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize("scalar", ["float", "double"])
@pytest.mark.parametrize("size", [(1, 1), (1, 999), (7, 70), (999, 1), (2048, 384)], ids=str)
def test_a_tile_leaves_registers_to_spare(machine: Machine, scalar, size):
    tile = choose_tile(machine, scalar, *size)
    vectors = tile.columns // tile.lanes

    assert tile.rows <= size[0]
    assert tile.columns % 16 == 0
    if tile.rows > 1:
        assert tile.rows * vectors + vectors + 1 <= machine.registers
    else:
        assert vectors <= machine.registers // 2


def test_large_products_get_the_tiles_that_reach_the_peak():
    assert (choose_tile(AVX2, "float", 2048, 384).rows, 16) == (6, 16)
    large = choose_tile(AVX512, "float", 2048, 384)
    assert (large.rows, large.columns) == (6, 64)


@pytest.mark.parametrize("name", PROCESSORS)
@pytest.mark.parametrize("scalar", ["float", "double", "i32"])
def test_sizes_that_share_a_tile_do_so_on_every_processor(name: str, scalar: str):
    pairs = set()
    for rows, columns in product(range(1, 60), (1, 8, 16, 17, 24, 32, 33, 48, 64, 96, 500)):
        tiles = (choose_tile(m, scalar, rows, columns) for m in (COMMON, PROCESSORS[name]))
        pairs.add(tuple((tile.rows, tile.columns) for tile in tiles))

    common, own = zip(*pairs, strict=True)
    assert len(pairs) == len(set(common)) == len(set(own))
    assert len(pairs) == len(all_tiles(COMMON, scalar, FUSED))


@pytest.mark.parametrize("name", PROCESSORS)
def test_panels_of_one_width_serve_any_number_of_rows(name: str):
    machine, found = PROCESSORS[name], set()
    for rows, columns in product(range(1, 257), (8, 20, 130, 384)):
        sizes = (Axis(rows, a=96, c=columns),), (Axis(columns, b=1, c=1),)
        spec = MatmulSpec("float", (), *sizes, (Axis(96, a=1, b=columns),))
        tile = panel_tile(machine, spec)
        found.add(tile.columns)
        assert fits(machine, tile.rows, tile.columns // tile.lanes)

    assert found == {best_tile(machine, "float", FUSED).columns}


@pytest.mark.parametrize("scalar", ["float", "double"])
def test_a_processor_without_room_for_a_tile_has_one_all_the_same(scalar: str):
    old = Machine("sse2", 128, 16)

    assert choose_tile(old, scalar, 100, 100).columns == 16


def test_scratch_is_bounded_by_the_caches():
    cut = plan(AVX2, "float", (100_000, 100_000), [(65536, 16)])

    assert sum(scratch_parts(cut)) < AVX2.l2 + AVX2.l3


def test_one_tile_serves_all_but_few_rows():
    tiles = {choose_tile(AVX2, "float", rows, columns) for rows in (48, 100, 4099)
             for columns in (16, 65, 5000)}  # fmt: skip

    assert {(tile.rows, tile.columns) for tile in tiles} == {(6, 16)}


@pytest.mark.parametrize("letters", LETTERS, ids=str)
def test_the_numbers_of_a_cut_are_those_of_its_blocks(letters):
    tile = choose_tile(AVX2, "float", 100, 100)
    cut, blocks = numbers_of_tile(AVX2, tile, (100, 100), letters), cut_k(letters, 4)

    assert cut.total * cut.pieces == len(blocks.pops)
    assert cut.count == -(-cut.total // cut.chunks) * cut.pieces == blocks.count
    assert cut.slots == blocks.between * tile.bytes
    assert cut.deep == blocks.longest
