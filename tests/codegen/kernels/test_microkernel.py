"""The loop that counts keeps its sums in registers, on machines that need not be this one."""

from __future__ import annotations

import re

import pytest

from gnomon.codegen.emitter import Module
from gnomon.codegen.kernels.blocking import choose_tile
from gnomon.codegen.kernels.microkernel import UNROLL, emit_tile
from gnomon.codegen.machine import AVX2, AVX512
from tests.codegen.kernels.jit import assembly

SHAPES = [(2048, 384), (1, 4096), (4, 4096), (7, 70)]


def hottest_loop(text: str) -> list[str]:
    """The instructions of the basic block with most multiplications."""
    blocks = re.split(r"^\.?\w[^\n]*:.*\n", text, flags=re.M)
    block = max(blocks, key=lambda lines: lines.count("vfmadd"))
    return [line.strip() for line in block.splitlines() if line.startswith("\t")]


@pytest.mark.parametrize(("cpu", "machine"), [("znver3", AVX2), ("znver4", AVX512)])
@pytest.mark.parametrize("size", SHAPES, ids=str)
def test_no_sum_leaves_its_register_inside_a_chunk(cpu, machine, size):
    tile = choose_tile(machine, "float", *size)
    emit_tile(module := Module(), "tile", tile)
    text = module.text().replace("define internal", "define")

    loop = hottest_loop(assembly(text, cpu))

    fused = [line for line in loop if "vfmadd" in line]
    assert len(fused) == UNROLL * len(tile.places)
    assert not [line for line in loop if "(%rsp" in line or "(%rbp" in line]
    assert not [line for line in loop if line.startswith("vmov") and line.count("mm") == 2]
