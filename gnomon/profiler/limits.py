"""Measure the machine's limits: multiply-adds per second, and bandwidths of memory and caches.

They are measured with loops of their own on the given number of threads, so that a fraction of a
limit means the same on every machine, and a machine that is busy elsewhere is noticed.
"""

from __future__ import annotations

import ctypes
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache

import numpy as np

from gnomon.codegen.emitter import LANES, LLVMModule, splat, vector
from gnomon.compiler.target import machine
from gnomon.ir.memo import memo
from gnomon.profiler.model import MachineLimits
from gnomon.runtime import system, threads
from gnomon.runtime.backend import HOST

__all__ = ["Limits", "cache_limits", "machine_now", "measured_limits", "peak_now"]

ROUNDS = 60_000
"""Iterations of the multiply-add loop, about a millisecond."""
BYTES = 128 << 20
"""Bytes that all threads together copy to measure memory."""
REPEATED = 1 << 24
"""Bytes that one thread copies, in a cache over and over, to measure the cache."""
PARAMETERS = (("ptr", "from"), ("ptr", "to"), ("i64", "bytes"), ("i64", "times"))


@dataclass(frozen=True)
class Limits:
    """The machine's limits: flop/s, and bytes/s of copying (read and written) and of reading."""

    flops: float
    copy: float
    copy_streaming: float
    """Copying with stores that bypass the caches."""
    read: float

    def of(self, name: str) -> float:
        """A limit by name; "copy" is the faster way to copy."""
        return max(self.copy, self.copy_streaming) if name == "copy" else asdict(self)[name]

    def at_least(self, flops: float) -> Limits:
        """Limits with the peak raised to a later measurement, if that is higher."""
        return replace(self, flops=max(self.flops, flops))


@memo
@cache
def loop(name: str) -> Callable[[int, int, int, int], None]:
    """Compile a native loop that measures a limit."""
    module = LLVMModule()
    {"peak": emit_peak, "read": emit_read}.get(name, emit_copy)(module, name)
    functions = HOST.kernels.load({name: module.text()})
    kinds = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    made = ctypes.CFUNCTYPE(None, *kinds)(functions[name])
    made.functions = functions  # whose code is there while they are held
    return made


def independent_sums() -> int:
    """The number of independent sums that keep every multiply-add unit busy."""
    return 12 if machine().registers < 32 else 24


def emit_peak(module: LLVMModule, name: str) -> None:
    """Emit a loop of multiply-adds on registers."""
    lanes = machine().lanes("float")
    kind, ones = vector("float", lanes), splat(1.0, "float", lanes)
    e = module.function(name, PARAMETERS)
    sums = e.loop(
        *(0, ROUNDS, 1),
        lambda _, *state: [e.fma(x, ones, x, lanes=lanes) for x in state],
        [(kind, splat(0.0, "float", lanes))] * independent_sums(),
    )
    for number, value in enumerate(sums):
        e.store(value, e.offset("%to", number * LANES * 4), kind, 4)
    e.ret()


def emit_copy(module: LLVMModule, name: str) -> None:
    """Emit a loop that copies memory; named "stream", its stores bypass the caches."""
    past = ", !nontemporal !0" if name == "stream" else ""
    if past:
        module.define("!0 = !{i32 1}")
    kind = vector("float")
    e = module.function(name, PARAMETERS)

    def body(place: str) -> None:
        value = e.load(e.offset("%from", place), kind, 64)
        e.do(f"store {kind} {value}, ptr {e.offset('%to', place)}, align 64{past}")

    e.loop(0, "%times", 1, lambda _: e.loop(0, "%bytes", 64, body))
    e.ret()


def emit_read(module: LLVMModule, name: str) -> None:
    """Emit a loop that reads memory and combines the values by `and`."""
    kind = "<16 x i32>"
    e = module.function(name, PARAMETERS)

    def body(place: str, *kept: str) -> list[str]:
        loads = [e.load(e.offset("%from", e.add(place, 64 * k)), kind, 64) for k in range(4)]
        return [e.value(f"and {kind} {x}, {y}") for x, y in zip(kept, loads, strict=True)]

    def repeated(_: str, *kept: str) -> list[str]:
        return e.loop(0, "%bytes", 256, body, [(kind, x) for x in kept])

    for number, value in enumerate(
        e.loop(0, "%times", 1, repeated, [(kind, "zeroinitializer")] * 4)
    ):
        e.store(value, e.offset("%to", 64 * number), kind, 64)
    e.ret()


def slowest_time(name: str, blocks: list[np.ndarray], size: int, times: int = 1) -> float:
    """Run a loop on several threads at once; return the slowest one's seconds."""
    call, spent = loop(name), [0.0] * len(blocks)
    ready = threading.Barrier(len(blocks))

    def work(number: int) -> None:
        given, made = (x.ctypes.data for x in np.split(blocks[number], 2))
        ready.wait()
        began = time.perf_counter()
        call(given, made, size, times)
        spent[number] = time.perf_counter() - began

    crew = [threading.Thread(target=work, args=(n,)) for n in range(len(blocks))]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return max(spent)


def aligned(size: int) -> np.ndarray:
    """An array of bytes, aligned to 64 and already touched."""
    block = np.ones(size + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size]


def peak_now(threads: int) -> float:
    """Measure the multiplications and additions per second."""
    lanes = machine().lanes("float")
    seconds = slowest_time("peak", [aligned(8192) for _ in range(threads)], 0)
    return 2.0 * threads * lanes * independent_sums() * ROUNDS / seconds


def measured_limits(threads: int, rounds: int = 5) -> Limits:
    """Measure each limit several times and take the best."""
    blocks = [aligned(2 * BYTES // threads) for _ in range(threads)]
    size = BYTES // threads // 256 * 256
    best = {
        name: min(slowest_time(name, blocks, size) for _ in range(rounds))
        for name in ("copy", "stream", "read")
    }
    moved = float(size * threads)
    return Limits(
        flops=max(peak_now(threads) for _ in range(4 * rounds)),
        copy=2 * moved / best["copy"],
        copy_streaming=2 * moved / best["stream"],
        read=moved / best["read"],
    )


def cache_limits(threads: int, rounds: int = 2) -> tuple[tuple[int, float], ...]:
    """Measure the caches: the bytes and bandwidth of each on these threads, the nearest first.

    The bandwidth is that of copying or reading, whichever is faster; a farther cache counts as no
    faster than a nearer one.
    """
    near, middle, far = system.caches()
    beyond = max(middle, min(4 * middle, far // (4 * threads)))
    levels = ((near * threads, near // 4), (middle * threads, middle // 4), (far, beyond))
    found: list[tuple[int, float]] = []
    for capacity, part in reversed(levels):
        size = max(256, part // 256 * 256)
        blocks = [aligned(2 * size) for _ in range(threads)]
        moved = float(max(1, REPEATED // size) * size * threads)
        speeds = [
            sides * moved / slowest_time(name, blocks, size, max(1, REPEATED // size))
            for name, sides in (("copy", 2), ("read", 1))
            for _ in range(rounds)
        ]
        found.append((capacity, max(*speeds, *(speed for _, speed in found))))
    return tuple(reversed(found))


def machine_now() -> MachineLimits:
    """The machine's limits with the current number of threads, measured once."""
    return machine_with(threads.get_num_threads())


@cache
def machine_with(count: int) -> MachineLimits:
    """The machine's limits with `count` threads."""
    limits = measured_limits(count, rounds=2)
    memory, caches = max(limits.of("copy"), limits.read), cache_limits(count)
    return MachineLimits(processor_name(), count, limits.flops, memory, caches)


def processor_name() -> str:
    """The processor's model name."""
    rows = (system.read("/proc/cpuinfo") or "").splitlines()
    named = (row.partition(":")[2].strip() for row in rows if row.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
