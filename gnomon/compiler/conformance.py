"""Conformance: compare the code that LLVM makes of the emitter's idioms with numpy.

Each idiom runs on memory whose surroundings are checked for stray writes. LLVM 22.1.0 fails some of
them on AVX-512 unless the worker repairs their text. `gnomon doctor` runs a part of them, the tests
run all. Nothing is compiled if an idiom fails that some LLVM is known to get wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

import numpy as np

from gnomon.codegen.emitter import LLVMModule
from gnomon.compiler.idioms import Idiom, samples, suspects
from gnomon.errors import CompileError
from gnomon.ir.memo import memo
from gnomon.runtime import device, workers
from gnomon.runtime.backend import HOST
from gnomon.runtime.cache import cache_of
from gnomon.runtime.linking import LEVEL
from gnomon.settings import current

__all__ = ["assure", "failures"]

GUARD = 64
"""The guard bytes before and after the memory that an idiom writes."""
UNTOUCHED = 0xEE


def emit_idioms(several: Sequence[Idiom], name: str) -> str:
    """Emit many idioms as one text, whose symbol is a table of their addresses."""
    module = LLVMModule()
    for k, idiom in enumerate(several):
        e = module.function(f"{name}.{k}", [("ptr", "a"), ("ptr", "m"), ("ptr", "out")])
        e.linkage = "internal "
        idiom.emit(e)
        e.ret()
    table = ", ".join(f"ptr @{name}.{k}" for k in range(len(several)))
    module.define(f"@{name} = constant [{len(several)} x ptr] [{table}]")
    return module.text()


def guarded_memory(nbytes: int) -> np.ndarray:
    """Memory for a result, filled with a pattern, with guard bytes on both sides."""
    return np.full(nbytes + 2 * GUARD, UNTOUCHED, np.uint8)


def run(idiom: Idiom, address: int, seed: int) -> str:
    """Run an idiom under each mask; returns its name and the first wrong mask, or ""."""
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(address)
    for on in idiom.masks:
        a = samples(idiom.given, idiom.lanes, seed)
        active = np.isin(np.arange(idiom.lanes), list(on))
        found = guarded_memory(idiom.lanes * idiom.made.itemsize)
        expected = found.copy()
        inside = expected[GUARD:-GUARD].view(idiom.made)
        kept = np.ones_like(active) if idiom.whole else active
        inside[kept] = idiom.expected(a, active)[kept].astype(idiom.made)
        call(a.ctypes.data, active.astype(np.uint8).ctypes.data, found.ctypes.data + GUARD)
        if not same(found, expected, idiom.made):
            return f"{idiom.name}: lanes {sorted(on)} on"
    return ""


def same(found: np.ndarray, expected: np.ndarray, made: np.dtype) -> bool:
    """Whether two results are equal in all bytes, guards included; any two NaN are equal."""
    left, right = (x[GUARD:-GUARD].view(made) for x in (found, expected))
    edges = [np.array_equal(found[part], expected[part]) for part in (AHEAD, BEHIND)]
    if made.kind not in "fV":
        return all(edges) and np.array_equal(left.view(np.uint8), right.view(np.uint8))
    bits = f"u{made.itemsize}"
    both_nan = np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    return all(edges) and bool(np.all(both_nan | (left.view(bits) == right.view(bits))))


AHEAD, BEHIND = slice(None, GUARD), slice(-GUARD, None)
TOGETHER = 256
"""The number of idioms that are compiled as one text."""


def failures(several: Sequence[Idiom], target: device.Target | None = None) -> Iterator[str]:
    """Yield the idioms that LLVM gets wrong on this machine, for a target that it can run.

    Code is compiled anew each time, since a cache entry says nothing about this LLVM.
    """
    made = target or device.target()
    for start in range(0, len(several), TOGETHER):
        part = several[start : start + TOGETHER]
        name = f"idioms{start}"
        text = emit_idioms(part, name)
        asked = (text, made.triple, made.cpu, made.features, LEVEL, 0)
        code = workers.content(workers.compile_here(asked))
        held = HOST.kernels.link({name: code})
        table = (ctypes.c_void_p * len(part)).from_address(held[name])
        for number, (idiom, address) in enumerate(zip(part, table, strict=True)):
            wrong = run(idiom, address, seed=start + number)
            if wrong:
                yield wrong


def assure() -> None:
    """Raise CompileError if LLVM gets one of `suspects` wrong; a machine is tested once.

    Raises CompileError.
    """
    target, store = device.target(), cache_of(current(), "conformance")
    key = HOST.kernels.key_of("conformance")
    if key in _right or (store and store.load(key) is not None):
        _right.add(key)
        return
    for wrong in failures(suspects(), target):
        version = HOST.kernels.version
        raise CompileError(
            f"compile: {version} makes wrong code for {target.cpu}: {wrong}. Install another "
            "version of llvmlite, or set GNOMON_CPU_FEATURES=avx2; `gnomon doctor` tells more."
        )
    _right.add(key)
    if store:
        store.store(key, b"right")


_right: set[str] = memo(set())
"""Keys of the targets for which LLVM has all `suspects` right."""
