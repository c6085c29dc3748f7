"""Bounds of groups: which groups a product has, and how ends that are out of order are read."""

from __future__ import annotations

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.tiled_groups import TiledRows, TiledSteps
from gnomon.codegen.machine import CARD
from tests.codegen.kernels.test_grouped import rows_spec, steps_spec


def test_groups_are_counted_over_all_shares():
    writer = TiledRows(LLVMModule(), "rows", rows_spec(20, 8, 8, 4, "float"), CARD)

    assert (writer.groups, writer.own_groups) == (4, 4)
    assert writer.in_share("%g", 4) == ("0", "%g")


def test_an_end_is_between_the_one_before_and_the_axis():
    writer = TiledSteps(LLVMModule(), "steps", steps_spec(8, 20, 8, 3, 1, "float"), CARD)
    writer.end_of("%run", "%least", 20)

    text = "\n".join(writer.e.lines)
    assert "@llvm.smin.i64" in text
    assert "@llvm.smax.i64" in text
    assert "i64 20" in text
