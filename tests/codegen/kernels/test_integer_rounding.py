"""Rows rounded to int8 have the bits that numpy gives them, at every end of their range."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.kernels.integer_rounding import RoundedRow, emit_rounding
from tests.codegen.kernels.jit import Kernel
from tests.integer_oracle import rounded

TIMES = -128
"""The number that sums of groups are multiplied by."""


def rounding(count: int, size: int, part: int) -> Kernel:
    """A kernel that rounds one row."""
    module = LLVMModule()
    e = module.function("k", KERNEL)
    source, *goals = (e.buffer(k) for k in range(5))
    emit_rounding(e, source, RoundedRow(*goals), count, (size, part, TIMES))
    e.ret()
    return Kernel(module.text(), "k", 0)


def rows(size: int) -> dict[str, np.ndarray]:
    """Rows of eight groups with everything that a float can be."""
    made = np.random.default_rng(0)
    x = made.standard_normal((8, size)).astype(np.float32)
    odd = x.copy()
    odd[1], odd[2], odd[3] = 0, -0.0, 1e-45
    odd[4, 3], odd[5, 7], odd[6, 0] = np.inf, np.nan, -np.inf
    halves = np.tile(np.arange(-127, 128, dtype=np.float32) / 2, 9)[: 8 * size].reshape(8, size)
    halves[:, 0] = 127  # the factor is 1, and numbers lie between two whole ones
    bits = made.integers(0, 2**32, (8, size), np.uint32).view(np.float32)
    return {"plain": x, "odd": odd, "halves": halves, "bits": bits, "tiny": x * np.float32(1e-43)}


@pytest.mark.parametrize(("size", "part"), [(32, 0), (64, 0), (256, 0), (256, 16), (256, 32)])
def test_rows_become_what_numpy_makes_of_them(size: int, part: int):
    kernel = rounding(8, size, part)
    for name, x in rows(size).items():
        x = np.ascontiguousarray(x)
        q, d = np.zeros(8 * size, np.int8), np.zeros(8, np.float32)
        totals, parts = np.zeros(8, np.int32), np.zeros(8 * size // (part or size), np.int16)
        kernel([x, q, d, totals, parts])

        numbers, factors = rounded(x.reshape(1, -1), size)
        np.testing.assert_array_equal(q, numbers.ravel(), name)
        np.testing.assert_array_equal(d, factors[0], name)
        sums, times = (parts, 1) if part else (totals, TIMES)
        np.testing.assert_array_equal(sums, times * numbers.reshape(len(sums), -1).sum(1), name)
