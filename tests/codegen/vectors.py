"""Runs a function written over an Algebra as machine code, and compares bits.

How LLVM is driven is in kernels/jit.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from gnomon.codegen.algebra import Algebra, Value
from gnomon.codegen.emitter import LANES, LLVMModule
from gnomon.codegen.llvm_algebra import LlvmAlgebra
from tests.codegen.kernels.jit import Kernel, assembly
from tests.oracle.algebra import ExactAlgebra

SCALARS = ("float", "double")
DTYPES = {"float": np.dtype("f4"), "double": np.dtype("f8")}
PARAMETERS = [("ptr", "buffers"), ("i64", "thread"), ("i64", "threads"), ("ptr", "scratch")]

Function = Callable[..., Value]

EDGES = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 7.0, 1e10, 3e38, 1e300, 1.7e308, np.inf, np.nan]
EDGES += [9.01, 88.7, 88.73, 89.5, 103.9, 104.1, 127.5, 128.0, 149.5, 708.5, 709.7, 709.8, 745.1]
EDGES += [2.0**-1022, 1e-310, 5e-324, 2.0**-126, 1e-40, 1e-45]
EDGES += [1 + 2.0**-23, 1 - 2.0**-24, 1 + 2.0**-52]
"""Where functions turn, overflow or fade; with either sign."""


def written(function: Function, scalar: str, arity: int) -> str:
    """A kernel that maps a function over its buffers, 16 elements a step, as LLVM text."""
    module = LLVMModule()
    e = module.function("vector", PARAMETERS)
    a = LlvmAlgebra(e, scalar)
    width = a.layout.bits // 8
    slots = [e.load(e.offset("%buffers", 8 * k), "ptr", 8) for k in range(arity + 1)]
    size = e.load(e.offset("%buffers", 8 * (arity + 1)), "i64", 8)

    def body(i: str) -> None:
        places = [e.offset(slot, e.mul(i, width)) for slot in slots]
        values = [e.load(place, a.kind, width) for place in places[:-1]]
        e.store(function(a, *values), places[-1], a.kind, width)

    e.loop(0, size, LANES, body)
    e.ret()
    return module.text()


@cache
def kernel(function: Function, scalar: str, arity: int) -> Kernel:
    """The function as machine code."""
    return Kernel(written(function, scalar, arity), "vector", 64)


def assembled(function: Function, scalar: str, arity: int, cpu: str) -> str:
    """The function as assembly for a CPU."""
    return assembly(written(function, scalar, arity), cpu)


def run(function: Function, scalar: str, *operands: np.ndarray) -> np.ndarray:
    """What the machine computes."""
    size, dtype = len(operands[0]), DTYPES[scalar]
    padded = [np.concatenate([x, np.zeros(-size % LANES, dtype)]) for x in operands]
    result = np.empty_like(padded[0])
    kernel(function, scalar, len(operands))([*padded, result, len(result)])
    return result[:size]


def exact(function: Callable[..., Value], scalar: str, *operands: np.ndarray) -> np.ndarray:
    """What the oracle computes."""
    algebra: Algebra = ExactAlgebra(scalar)
    return np.broadcast_to(function(algebra, *operands), operands[0].shape)


def differing(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Where the bits differ; any NaN equals any other."""
    kind = f"i{left.itemsize}"
    alike = left.view(kind) == np.ascontiguousarray(right).view(kind)
    return np.flatnonzero(~(alike | (np.isnan(left) & np.isnan(right))))


def edges(scalar: str) -> np.ndarray:
    """The special values of a type, with either sign."""
    with np.errstate(all="ignore"):
        positive = np.array(EDGES).astype(DTYPES[scalar])
    return np.concatenate([positive, -positive])


def sample(rng: np.random.Generator, scalar: str, size: int) -> np.ndarray:
    """Edges, any bit patterns at all, and numbers of moderate size."""
    dtype = DTYPES[scalar]
    patterns = rng.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype)
    moderate = rng.standard_normal(size) * np.exp2(rng.uniform(-6, 8, size))
    return np.concatenate([edges(scalar), patterns, moderate.astype(dtype)])


def pairs(rng: np.random.Generator, scalar: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two operands: every edge with every other, then samples."""
    left, right = (grid.ravel() for grid in np.meshgrid(edges(scalar), edges(scalar)))
    more, yet_more = sample(rng, scalar, size), rng.permutation(sample(rng, scalar, size))
    return np.concatenate([left, more]), np.concatenate([right, yet_more])


def operands(
    rng: np.random.Generator, scalar: str, arity: int, size: int = 500
) -> tuple[np.ndarray, ...]:
    """Inputs for a function of one or two values."""
    return (sample(rng, scalar, size),) if arity == 1 else pairs(rng, scalar, size)
