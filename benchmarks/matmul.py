"""The matrix product on one core: GFLOP/s beside the peak of fused multiply-adds, and numpy.

Run by hand (python benchmarks/matmul.py) on an idle machine with OPENBLAS_NUM_THREADS=1. Contenders
alternate, and the best of each counts. "one chain" is the same product without canonical order:
what the order costs is the difference.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from gnomon.codegen.emitter import KERNEL, LANES, LLVMModule, splat, vector
from gnomon.codegen.kernels.matmul import emit_matmul
from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.compiler.target import machine
from gnomon.ops.canonical import OTHERS, leaves
from gnomon.runtime import cpu

SHAPES = [
    ("NN", 512, 512, 512),
    ("NN", 1024, 1024, 1024),
    ("NT", 1536, 1536, 1536),
    ("NT", 2048, 384, 384),
    ("NN", 2048, 384, 384),
    ("TN", 384, 384, 2048),
    ("NT", 2048, 1536, 384),
    ("NN", 2048, 384, 1536),
    ("TN", 1536, 384, 2048),
    ("NT", 1, 1536, 384),
]
"""Layout of A and B (T: stored transposed), rows, columns, steps."""
ROUNDS, SECONDS = 200_000, 1.5


def product(kind: str, m: int, n: int, k: int, pieces: int) -> MatmulSpec:
    """C = A B, contiguous as stored."""
    a = (k, 1) if kind[0] == "N" else (1, m)
    b = (n, 1) if kind[1] == "N" else (1, k)
    steps = (Axis(k, a=a[1], b=b[0], leaves=pieces),)
    return MatmulSpec("float", (), (Axis(m, a=a[0], c=n),), (Axis(n, b=b[1], c=1),), steps)


def load(name: str, module: LLVMModule, scratch: int, *buffers: np.ndarray) -> Callable[[], None]:
    """A call of a kernel, on one thread."""
    kinds = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    call = ctypes.CFUNCTYPE(None, *kinds)(cpu.load({name: module.text()})[name])
    table = (ctypes.c_int64 * max(1, len(buffers)))(*(b.ctypes.data for b in buffers))
    memory = np.zeros(scratch + 64, np.uint8)
    start = memory.ctypes.data + -memory.ctypes.data % 64
    keep = (table, memory, buffers)
    return lambda: call(ctypes.addressof(keep[0]), 0, 1, start)


def peak() -> tuple[Callable[[], None], float]:
    """A loop of nothing but multiply-adds in registers, and how many operations it does."""
    chains = 12 if machine().registers < 32 else 24
    kind = vector("float", lanes := machine().lanes("float"))
    e = (module := LLVMModule()).function("peak", KERNEL)
    ones = splat(1.0, "float", lanes)
    sums = e.loop(
        0, ROUNDS, 1, lambda _, *x: [e.fma(v, ones, v, lanes=lanes) for v in x],
        [(kind, ones)] * chains,
    )  # fmt: skip
    for number, value in enumerate(sums):
        e.store(value, e.offset("%scratch", number * LANES * 4), kind, 4)
    e.ret()
    return load("peak", module, chains * LANES * 4), 2.0 * lanes * chains * ROUNDS


def fastest(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least seconds of each, alternately; only this thread's own time counts."""
    best = dict.fromkeys(calls, float("inf"))
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        for name, call in calls.items():
            start = time.thread_time_ns()
            call()
            best[name] = min(best[name], (time.thread_time_ns() - start) / 1e9)
    return best


def measure(kind: str, m: int, n: int, k: int) -> str:
    """One line of the table."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, np.float32) for shape in ((m, k), (k, n)))
    a_stored = np.ascontiguousarray(a if kind[0] == "N" else a.T)
    b_stored = np.ascontiguousarray(b if kind[1] == "N" else b.T)
    c, count = np.empty((m, n), np.float32), leaves(k, OTHERS)
    left = a_stored if kind[0] == "N" else a_stored.T
    right = b_stored if kind[1] == "N" else b_stored.T
    calls: dict[str, Callable[[], object]] = {"numpy": lambda: np.matmul(left, right, out=c)}
    for label, pieces in (("gnomon", count), ("one chain", 1)):
        name = f"product_{kind}_{m}_{n}_{k}_{pieces}"
        module = LLVMModule()
        scratch = emit_matmul(module, name, product(kind, m, n, k, pieces), machine())
        calls[label] = load(name, module, scratch, c, a_stored, b_stored)
    calls["peak"], operations = peak()
    best = fastest(calls)
    top = operations / best.pop("peak") / 1e9
    rates = {label: 2e-9 * m * n * k / seconds for label, seconds in best.items()}
    shown = "  ".join(f"{label} {rate:6.1f} ({rate / top:4.0%})" for label, rate in rates.items())
    return f"{kind} {m:5}x{n:5}x{k:5}  leaves {count:2}  {shown}"


def main() -> None:
    """Print one line per product."""
    print(f"{machine().name}: GFLOP/s, and the share of the multiply-add peak")
    for shape in SHAPES:
        print(measure(*shape), flush=True)


if __name__ == "__main__":
    main()
