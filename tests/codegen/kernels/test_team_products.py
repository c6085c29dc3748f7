"""The tile and the writer of a product by teams."""

from __future__ import annotations

from dataclasses import replace

from gnomon.codegen.choices import measured_tile
from gnomon.codegen.kernels.split_rows import SplitWriter
from gnomon.codegen.kernels.team_products import writer_of
from gnomon.codegen.kernels.tensor_tiles import TensorWriter
from gnomon.codegen.kernels.tiled import TiledWriter
from gnomon.codegen.machine import CARD, TENSOR_CARD
from tests.codegen.kernels.test_tiled import spec_of


def test_factors_say_who_writes():
    spec = replace(spec_of(1, 64, 64, 64), scalar="bfloat")

    for machine, scalar, expected in (
        (TENSOR_CARD, "bfloat", TensorWriter),
        (TENSOR_CARD, "half", TensorWriter),
        (TENSOR_CARD, "float", TiledWriter),
        (CARD, "bfloat", TiledWriter),
    ):
        given = measured_tile(replace(spec, scalar=scalar), machine)
        assert writer_of(given, machine) is expected


def test_the_tile_says_who_writes():
    few, many = (spec_of(1, rows, 64, 64) for rows in (4, 9))

    for spec, expected in ((few, SplitWriter), (many, TiledWriter)):
        assert writer_of(measured_tile(spec, CARD), CARD) is expected
