"""How rows of B are read where they lie: in which order, and how many side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.microkernel import Tile
from gnomon.codegen.kernels.readers import ALIAS, Across, Along
from gnomon.codegen.kernels.steps import FUSED, ChainStep
from gnomon.codegen.kernels.units import Source

TILE = Tile("float", 8, 6, 16)
PAIRED = ChainStep("fma", 1, True, "mxcsr")


def numbers(reader, tile, units: int) -> list[int]:
    """The units of rows, in the order in which they are multiplied."""
    e = LLVMModule().function("some", ())
    return [number for number, _ in reader.rows(e, tile, "%b", (units, range(2)))]


@pytest.mark.parametrize(
    "reader", [Along(Source("float"), 400, False), Across(Source("float"), 400)]
)
def test_single_steps_ascend(reader):
    assert numbers(reader, TILE, 8) == list(range(8))


@pytest.mark.parametrize(
    "reader", [Along(Source("bfloat"), 400, True), Across(Source("bfloat"), 400)]
)
def test_of_a_pair_the_odd_step_is_first(reader):
    tile = replace(TILE, step=PAIRED)

    assert numbers(reader, tile, 16) == [unit ^ 1 for unit in range(16)]
    assert numbers(reader, tile, 2) == [1, 0]
    assert numbers(reader, tile, 1) == [0]


def test_columns_whose_lines_evict_each_other_come_one_after_another():
    tile = replace(TILE, rows=1, step=FUSED)

    assert Along(Source("float"), 400, False).groups(tile) == [range(2)]
    assert Along(Source("float"), ALIAS, False).groups(tile) == [range(1), range(1, 2)]


def test_pairs_that_are_taken_apart_go_on_side_by_side():
    tile = replace(TILE, rows=1, step=PAIRED)

    assert Along(Source("bfloat"), ALIAS, True).groups(tile) == [range(2)]


@pytest.mark.parametrize(("far", "asked"), [(1536, 16), (ALIAS, 0), (3 * ALIAS, 0)])
def test_lines_of_the_next_columns_are_asked_for_where_columns_are_short(far, asked):
    e = LLVMModule().function("some", ())

    list(Along(Source("float"), far, False).rows(e, TILE, "%b", (16, range(2))))

    assert e.text().count("llvm.prefetch") == asked


def test_sums_that_have_no_registers_come_one_after_another():
    reader = Across(Source("float"), 400)

    assert reader.groups(replace(TILE, rows=6)) == [range(2)]
    assert reader.groups(replace(TILE, rows=12)) == [range(1), range(1, 2)]


def test_a_line_of_memory_is_read_as_a_whole():
    for scalar, units in (("float", 16), ("half", 32)):
        assert Along(Source(scalar), 400, False).unrolls(TILE)[0] == units
