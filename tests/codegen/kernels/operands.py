"""Matrix products for tests: specs in every layout, and arrays that fit them."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Axis, Epilogue, MatmulSpec
from gnomon.codegen.machine import AVX2, Machine
from tests.codegen.kernels.jit import Kernel

KINDS = ("NN", "NT", "TN", "TT")


def plain(kind: str, m: int, n: int, k: int, leaves: int = 1, scalar: str = "float") -> MatmulSpec:
    """C[m, n] = A B, either of which may be stored transposed ("T")."""
    a = (k, 1) if kind[0] == "N" else (1, m)
    b = (n, 1) if kind[1] == "N" else (1, k)
    return MatmulSpec(
        scalar,
        batch=(),
        rows=(Axis(m, a=a[0], c=n),),
        columns=(Axis(n, b=b[1], c=1),),
        steps=(Axis(k, a=a[1], b=b[0], leaves=leaves),),
    )


def stored(rng: np.random.Generator, flip: bool, *shape: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix, and the same as it lies in memory: transposed or not."""
    matrix = rng.standard_normal(shape).astype(np.float32)
    return matrix, np.ascontiguousarray(matrix.T if flip else matrix)


def compile_product(
    spec: MatmulSpec, machine: Machine = AVX2, epilogue: Epilogue | None = None
) -> Kernel:
    """The kernel of a product, ready to call."""
    module = LLVMModule()
    scratch = emit_matmul(module, "product", spec, machine, epilogue)
    return Kernel(module.text(), "product", scratch)


def guarded(values: np.ndarray) -> np.ndarray:
    """A copy that ends where a page without access begins: one element farther is a crash."""
    page = mmap.PAGESIZE
    size = -(-values.nbytes // page) * page
    memory = mmap.mmap(-1, size + page)
    raw = np.frombuffer(memory, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    assert protect(ctypes.c_void_p(raw.ctypes.data + size), ctypes.c_size_t(page), 0) == 0
    copy = raw[size - values.nbytes : size].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy
