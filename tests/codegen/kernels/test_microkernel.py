"""The loop that counts keeps its sums in registers, on machines that need not be this one."""

from __future__ import annotations

import re

import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.blocking import choose_tile
from gnomon.codegen.kernels.microkernel import UNROLL, emit_tile
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.jit import assembly

SHAPES = [(2048, 384), (1, 4096), (4, 4096), (7, 70)]
X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
CPUS = [
    ("znver3", X86, AVX2),
    ("haswell", X86, AVX2),
    ("znver4", X86, AVX512),
    ("skylake-avx512", X86, AVX512),
    ("cortex-a76", ARM, NEON),
]


FUSED = re.compile(r"\b(vfmadd|fmla)")


def hottest_loop(text: str, instruction: str = FUSED.pattern) -> list[str]:
    """The instructions of the basic block with most multiplications."""
    blocks = re.split(r"^\.?\w[^\n]*:.*\n", text, flags=re.M)
    block = max(blocks, key=lambda lines: len(re.findall(instruction, lines)))
    return [line.strip() for line in block.splitlines() if line.startswith("\t")]


@pytest.mark.parametrize(("cpu", "triple", "machine"), CPUS, ids=[cpu for cpu, _, _ in CPUS])
@pytest.mark.parametrize("size", SHAPES, ids=str)
def test_no_sum_leaves_its_register_inside_a_chunk(cpu, triple, machine, size):
    tile = choose_tile(machine, "float", *size)
    emit_tile(module := LLVMModule(), "tile", tile)
    text = module.text().replace("define internal", "define")

    loop = hottest_loop(assembly(text, cpu, triple=triple))

    assert len([line for line in loop if FUSED.search(line)]) == UNROLL * len(tile.places)
    assert not [line for line in loop if re.search(r"\(%r[sb]p|\[sp", line)]
