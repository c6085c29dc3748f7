"""Zeros around the last axes."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.padding import PaddingSpec, emit_padding
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded

CASES = [
    ((3, 7, 33), (1, 2), (1, 0)),
    ((2, 5, 16), (0, 17), (3, 1)),
    ((4, 9), (2,), (40,)),
    ((2, 3, 4, 6), (1, 0, 2), (1, 1, 0)),
    ((5, 1, 1), (0, 0), (0, 1)),
]
"""(lead and sizes, zeros before, zeros after)"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda x: x.__name__)
def test_a_frame_holds_its_picture_and_zeros(rng, case, dtype, threads):
    shape, low, high = case
    x = rng.standard_normal(shape).astype(dtype)
    expected = np.pad(x, [(0, 0), *zip(low, high, strict=True)])
    module, found = LLVMModule(), np.full(expected.shape, np.nan, dtype)
    scalar = {np.float32: "float", np.float64: "double"}[dtype]
    emit_padding(module, "zero_padding", PaddingSpec(scalar, shape[0], shape[1:], low, high))

    Kernel(module.text(), "zero_padding", 0)([found, guarded(x)], threads)

    assert np.array_equal(found, expected)
