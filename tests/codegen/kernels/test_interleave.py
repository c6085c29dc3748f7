"""Tensors interleaved along axes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.interleave import InterleaveSpec, emit_interleave
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded

CASES = [
    ((3, 7, 33), (2, 2)),
    ((2, 5, 16), (3, 2)),
    ((1, 4, 9), (1, 3)),
    ((5, 29), (2,)),
    ((2, 3, 4, 6), (2, 1, 2)),
    ((3, 1, 2), (1, 2)),
]
"""(lead and sizes, steps)"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("shape", "steps"), CASES, ids=str)
@pytest.mark.parametrize("scalar", ["float", "double"])
def test_elements_stand_where_their_turn_is(rng, shape, steps, scalar, threads):
    dtype = {"float": np.float32, "double": np.float64}[scalar]
    y = rng.standard_normal(shape).astype(dtype)
    parts = [
        np.ascontiguousarray(
            y[(slice(None), *(slice(k, None, s) for k, s in zip(at, steps, strict=True)))]
        )
        for at in product(*map(range, steps))
    ]
    module, found = LLVMModule(), np.full(shape, np.nan, dtype)
    emit_interleave(module, "interleave", InterleaveSpec(scalar, shape[0], shape[1:], steps))

    Kernel(module.text(), "interleave", 0)([found, *map(guarded, parts)], threads)

    assert np.array_equal(found, y)
