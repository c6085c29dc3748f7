"""Squares come out transposed."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import BITS, KERNEL, LLVMModule, vector
from gnomon.codegen.kernels.transposing import BLOCK, read_turned, transpose
from tests.codegen.kernels.jit import Kernel


@pytest.mark.parametrize("whole", [True, False], ids=["from registers", "from memory"])
@pytest.mark.parametrize("scalar", BLOCK)
def test_rows_become_columns(scalar: str, whole: bool):
    side, size = BLOCK[scalar], BITS[scalar] // 8
    e = (module := LLVMModule()).function("turn", KERNEL)
    source, target = (e.load(e.offset("%buffers", 8 * slot), "ptr", 8) for slot in range(2))
    kind = vector(scalar, side)
    places = [e.offset(source, k * side * size) for k in range(side)]
    if whole:
        turned = transpose(e, scalar, [e.load(place, kind, size) for place in places])
    else:
        turned = read_turned(e, scalar, places, size)
    for k, value in enumerate(turned):
        e.store(value, e.offset(target, k * side * size), kind, size)
    e.ret()
    x = np.arange(side * side, dtype=f"i{size}").reshape(side, side)
    y = np.zeros_like(x)

    Kernel(module.text(), "turn", 64)([x, y])

    assert np.array_equal(y, x.T)
