"""Rows of A that are read where they lie leave sums in their registers."""

from __future__ import annotations

import re

import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.blocking import choose_tile
from gnomon.codegen.kernels.lines import Lines, Turned
from gnomon.codegen.kernels.microkernel import UNROLL, emit_tile
from gnomon.codegen.machine import NEON
from tests.codegen.kernels.jit import assembly
from tests.codegen.kernels.test_microkernel import CPUS, FUSED, hottest_loop

WIDE = [cpu for cpu in CPUS if cpu[2] is not NEON]


@pytest.mark.parametrize(("cpu", "triple", "machine"), WIDE, ids=[cpu for cpu, _, _ in WIDE])
@pytest.mark.parametrize("left", [Lines, Turned], ids=lambda left: left.__name__)
@pytest.mark.parametrize("scalar", ["float", "double"])
def test_no_sum_leaves_its_register_inside_a_chunk(cpu, triple, machine, left, scalar):
    tile = choose_tile(machine, scalar, 2048, 64)
    emit_tile(module := LLVMModule(), "tile", tile, left())
    text = module.text().replace("define internal", "define")

    loop = hottest_loop(assembly(text, cpu, triple=triple))

    assert len([line for line in loop if FUSED.search(line)]) == UNROLL * len(tile.places)
    assert not [line for line in loop if re.search(r"\(%r[sb]p|\[sp", line)]
