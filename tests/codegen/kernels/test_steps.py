"""Which instruction multiplies what, on machines that need not be this one."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.blocking import choose_tile
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.microkernel import Right, emit_tile
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.kernels.steps import (
    FUSED,
    ChainStep,
    choose_single,
    choose_step,
    memory_of,
    sums_of,
)
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.jit import assembly
from tests.codegen.kernels.operands import Kernel, compile_product, plain
from tests.codegen.kernels.test_microkernel import ARM, X86, hottest_loop

DOTS = replace(AVX512, instructions=("mxcsr", "pmaddwd", "vpdpwssd", "vdpbf16ps"))


def test_floats_are_fused():
    assert choose_step(AVX2, "float", [(7, 1)]) == choose_step(DOTS, "double", [(8, 1)]) == FUSED
    assert choose_step(DOTS, "half", [(8, 1)]) == FUSED


@pytest.mark.parametrize(
    ("machine", "letters", "expected"),
    [
        (AVX2, [(384, 2)], "fma"),
        (DOTS, [(384, 2)], "vdpbf16ps"),
        (DOTS, [(129, 1)], "vdpbf16ps"),  # half a pair at the very end
        (DOTS, [(258, 2)], "fma"),  # half a pair inside
        (DOTS, [(2, 1), (129, 1)], "fma"),
        (DOTS, [], "vdpbf16ps"),
    ],
)
def test_pairs_of_bfloats_need_an_instruction_and_whole_chunks(machine, letters, expected):
    step = choose_step(machine, "bfloat", letters)

    assert step.instruction == expected
    assert step.paired == (expected == "fma")


@pytest.mark.parametrize(
    ("machine", "letters", "expected"),
    [
        (AVX2, [(384, 1)], "pmaddwd"),
        (DOTS, [(384, 1)], "vpdpwssd"),
        (NEON, [(384, 1)], "mul"),
        (AVX2, [(3, 1), (5, 1)], "mul"),
    ],
)
def test_bytes_go_in_pairs_where_the_machine_can(machine, letters, expected):
    assert choose_step(machine, "i8", letters).instruction == expected


def test_cuda_takes_denormals_as_zeros_by_its_instruction():
    card = replace(AVX2, instructions=("fma.ftz",))

    step = choose_step(card, "bfloat", [(384, 2)])

    assert step == ChainStep("fma.ftz", 1, True) == choose_single(card, "bfloat")
    assert choose_step(card, "float", [(384, 2)]) == FUSED
    text = compile_text(card)
    assert "llvm.nvvm.fma.rn.ftz.f" in text
    assert "mxcsr" not in text


def compile_text(machine) -> str:
    """The text of a product of bfloats."""
    spec = MatmulSpec(
        "bfloat", (), (Axis(4, a=8, c=4),), (Axis(4, b=1, c=1),), (Axis(8, a=1, b=4, leaves=1),)
    )
    module = LLVMModule()
    emit_matmul(module, "product", spec, machine)
    return module.text()


def test_sums_are_as_wide_as_units():
    assert [sums_of(x) for x in ("float", "double", "bfloat", "half", "u8")] == [
        *("float", "double", "float", "float", "i32")
    ]
    assert memory_of("bfloat") == "i16"


CPUS = [
    ("vdpbf16ps", "float", "znver4", X86, DOTS),
    ("vpdpwssd", "i32", "znver4", X86, DOTS),
    ("vpmaddwd", "i32", "znver3", X86, AVX2),
    ("vpmaddwd", "i32", "skylake-avx512", X86, AVX512),
]


@pytest.mark.parametrize(("name", "sums", "cpu", "triple", "machine"), CPUS)
def test_each_instruction_is_what_the_processor_runs(name, sums, cpu, triple, machine):
    step = ChainStep(name.replace("vpmadd", "pmadd"), 2)
    tile = choose_tile(machine, sums, 2048, 384, step)
    emit_tile(module := LLVMModule(), "tile", tile)
    text = module.text().replace("define internal", "define")

    loop = hottest_loop(assembly(text, cpu, triple=triple), name)

    assert sum(name in line for line in loop) == Right().unrolls(tile)[0] * len(tile.places)
    assert not [line for line in loop if re.search(r"\(%r[sb]p", line)]


@pytest.mark.parametrize(
    ("cpu", "triple", "machine", "switch"),
    [("znver3", X86, AVX2, "ldmxcsr"), ("cortex-a76", ARM, NEON, "FPCR")],
)
def test_denormals_are_switched_outside_of_every_loop(cpu, triple, machine, switch):
    module = LLVMModule()
    emit_matmul(module, "product", plain("NT", 60, 60, 256, 2, "bfloat"), machine)

    text = assembly(module.text(), cpu, triple=triple)

    assert switch in text
    assert switch not in "".join(hottest_loop(text))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_environment_is_left_as_it_was(threads: int):
    a = np.full((1, 2), 0x0001, np.int16)
    kernel: Kernel = compile_product(plain("NN", 1, 1, 2, 1, "bfloat"))

    kernel([np.zeros((1, 1), np.float32), a, a], threads)

    assert np.float32(1e-40) * np.float32(0.5) != 0
