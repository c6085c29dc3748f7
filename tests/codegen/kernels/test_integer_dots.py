"""Sums of products of bytes are exact on every processor, whatever the bytes are."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.kernels.integer_dots import BYTES, SUMS, UNITS, WIDE, dots, signed_dots
from gnomon.ops.integer_blocks import TERMS
from tests.codegen.kernels.jit import Kernel, assembly
from tests.processors import PROCESSORS, here


def code(processor: str, signed: bool) -> str:
    """A kernel that adds the dots of 64 bytes to 16 sums."""
    module = LLVMModule()
    e = module.function("k", KERNEL)
    total, w, x = (e.buffer(k) for k in range(3))
    values = [e.load(w, WIDE, 1), e.load(x, WIDE, 1)]
    write = signed_dots if signed else dots
    made = write(e, PROCESSORS[processor], e.load(total, SUMS, 4), *values)
    e.store(made, total, SUMS, 4)
    e.ret()
    return module.text()


@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("signed", [False, True])
def test_dots_are_exact_at_the_ends_of_their_ranges(processor: str, signed: bool):
    kernel = Kernel(here(code(processor, signed)), "k", 0)
    made = np.random.default_rng(0)
    low, most = (-128, 127) if signed else (0, 63)
    ends = [np.full(BYTES, value) for value in (low, most)]
    for left in (*ends, made.integers(low, most + 1, BYTES)):
        for right in (
            *(np.full(BYTES, v) for v in (-127, 0, 127)),
            made.integers(-127, 128, BYTES),
        ):
            total = np.arange(16, dtype=np.int32)
            kernel([total, left.astype(np.int8), right.astype(np.int8)])

            products = (left * right).reshape(16, 4).sum(1)
            np.testing.assert_array_equal(total, products + np.arange(16))


def test_instructions_are_those_of_the_processor():
    wanted = {"genoa": ("znver4", "vpdpbusd"), "skylake": ("skylake-avx512", "vpmaddubsw")}
    wanted["zen3"] = "znver3", "vpmaddubsw"
    for processor, (cpu, instruction) in wanted.items():
        assert instruction in assembly(code(processor, False), cpu)
    arm = assembly(code("apple", True), "apple-m1", triple="aarch64-unknown-linux-gnu")
    assert "smull" in arm or "sdot" in arm


def test_every_format_of_whole_numbers_has_a_reader():
    assert set(UNITS) == set(TERMS)
