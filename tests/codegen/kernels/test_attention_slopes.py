"""The row sums of attention's gradient, run by themselves."""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.attention_parts import Parts
from gnomon.codegen.kernels.attention_slopes import write_delta
from gnomon.codegen.machine import AVX2
from tests.codegen.kernels.attention_oracle import row_sums
from tests.codegen.kernels.exact import same_bits
from tests.codegen.kernels.heads import Sizes, grad_spec, spec_of
from tests.codegen.kernels.jit import aligned, machine_for, parse


@pytest.mark.parametrize("width", [5, 16, 64, 100, 130])
def test_row_sums_use_sixty_four_virtual_lanes(rng, width):
    grads = grad_spec(spec_of(Sizes(e=width), causal=False))
    parts = Parts(module := LLVMModule(), "grad", grads.forward, AVX2)
    parts.filler()
    write_delta(parts, grads.dout)
    machine = machine_for()
    text = module.text().replace("define internal", "define")
    engine = llvm.create_mcjit_compiler(parse(text, machine), machine)
    kinds = (*(ctypes.c_void_p,) * 4, ctypes.c_int64)
    call = ctypes.CFUNCTYPE(None, *kinds)(engine.get_function_address("grad.delta"))
    x, y = rng.standard_normal((2, 7, width)).astype(np.float32)
    products, sums = aligned(4096), np.zeros(7, np.float32)

    call(x.ctypes.data, y.ctypes.data, products.ctypes.data, sums.ctypes.data, 7)

    assert same_bits(sums, row_sums(x * y))
