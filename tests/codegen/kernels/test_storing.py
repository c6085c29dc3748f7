"""Finished sums reach the result through the microkernel or an epilogue, with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.packed import PackedWriter
from gnomon.codegen.kernels.product import Axis, MatmulSpec, store_to
from gnomon.codegen.machine import AVX2, AVX512, NEON
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import stored

PITCH = 70
"""Numbers from a row of the result to the next."""


def run(writer: PackedWriter, a: np.ndarray, b: np.ndarray, threads: int = 1) -> np.ndarray:
    """All that the kernel wrote, and what was there before: NaN."""
    whole = np.full((a.shape[0] + 2, PITCH), np.nan, np.float32)
    scratch = writer.write()
    Kernel(writer.module.text(), writer.name, scratch)([whole, a, b], threads)
    return whole


def described(m: int, n: int, k: int, leaves: int) -> MatmulSpec:
    """A result with room between its rows, and before them."""
    rows, columns = (Axis(m, a=k, c=PITCH),), (Axis(n, b=1, c=1),)
    return MatmulSpec("float", (), rows, columns, (Axis(k, 1, n, leaves=leaves),), (0, 0, PITCH))


@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
@pytest.mark.parametrize(("k", "leaves"), [(64, 1), (1300, 1), (768, 4), (2048, 16)])
@pytest.mark.parametrize("shape", [(24, 48), (31, 53)], ids=str)
def test_whole_tiles_are_stored_by_the_microkernel(rng, machine, k, leaves, shape):
    (m, n), spec = shape, described(*shape, k, leaves)
    a, b = stored(rng, False, m, k)[0], stored(rng, False, k, n)[0]
    straight = PackedWriter(LLVMModule(), "product", spec, machine)
    waiting = PackedWriter(LLVMModule(), "product", spec, machine, store_to(spec))

    made, same = run(straight, a, b, 2), run(waiting, a, b)

    assert straight.stores
    assert not waiting.stores
    assert same_bits(made, same)
    assert same_bits(made[1 : 1 + m, :n].copy(), product(a, b.T, [(k, leaves)]))
    made[1 : 1 + m, :n] = np.nan
    assert np.isnan(made).all(), "something else was written"


def test_results_that_lie_otherwise_take_the_epilogue():
    rows, steps = (Axis(12, a=8, c=32),), (Axis(8, a=1, b=32),)
    upright = MatmulSpec("float", (), (Axis(12, a=8, c=1),), (Axis(32, b=1, c=12),), steps)
    heads = MatmulSpec("float", (), rows, (Axis(2, b=16, c=384), Axis(16, b=1, c=1)), steps)

    assert not PackedWriter(LLVMModule(), "product", upright, AVX2).stores
    assert not PackedWriter(LLVMModule(), "product", heads, AVX2).stores
