"""Squares come out transposed."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import BITS, KERNEL, Module, vector
from gnomon.codegen.kernels.transposing import BLOCK, transpose
from tests.codegen.kernels.jit import Kernel


@pytest.mark.parametrize("scalar", BLOCK)
def test_rows_become_columns(scalar: str):
    side, size = BLOCK[scalar], BITS[scalar] // 8
    e = (module := Module()).function("turn", KERNEL)
    source, target = (e.load(e.offset("%buffers", 8 * slot), "ptr", 8) for slot in range(2))
    kind = vector(scalar, side)
    rows = [e.load(e.offset(source, k * side * size), kind, size) for k in range(side)]
    for k, value in enumerate(transpose(e, scalar, rows)):
        e.store(value, e.offset(target, k * side * size), kind, size)
    e.ret()
    x = np.arange(side * side, dtype=f"i{size}").reshape(side, side)
    y = np.zeros_like(x)

    Kernel(module.text(), "turn", 64)([x, y])

    assert np.array_equal(y, x.T)
