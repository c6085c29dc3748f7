"""What 300 launches cost the host: from Python, by a native loop over a table, and as a graph."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from ctypes import byref, c_void_p
from statistics import median
from typing import Any

import llvmlite.binding as llvm

from benchmarks.cuda.ceilings import EMPTY
from benchmarks.cuda.driver import Driver

COUNT, ROUNDS = 300, 15
LOOP = """
define i32 @start(ptr %rows, i64 %count, ptr %launch, ptr %stream) {
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %failed = phi i32 [0, %entry], [%now, %body]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %done
body:
  %row = getelementptr {ptr, i32, i32, i32, i32, ptr}, ptr %rows, i64 %k
  %kernel = load ptr, ptr %row, align 8
  %p1 = getelementptr i8, ptr %row, i64 8
  %p2 = getelementptr i8, ptr %row, i64 12
  %p3 = getelementptr i8, ptr %row, i64 16
  %p4 = getelementptr i8, ptr %row, i64 24
  %grid = load i32, ptr %p1, align 4
  %block = load i32, ptr %p2, align 4
  %shared = load i32, ptr %p3, align 4
  %given = load ptr, ptr %p4, align 8
  %code = call i32 %launch(ptr %kernel, i32 %grid, i32 1, i32 1, i32 %block, i32 1, i32 1,
                           i32 %shared, ptr %stream, ptr %given, ptr null)
  %now = or i32 %failed, %code
  %next = add i64 %k, 1
  br label %head
done:
  ret i32 %failed
}
"""
"""A loop over rows: a kernel, its grid, block and shared memory, pointers to its arguments."""


class Row(ctypes.Structure):
    """A launch."""

    _fields_ = [
        ("kernel", c_void_p),
        ("grid", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
        ("shared", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("given", c_void_p),
    ]


class Table:
    """Launches of a kernel, each with an argument of its own, that a native loop starts."""

    def __init__(self, driver: Driver, count: int) -> None:
        self.driver = driver
        kernel = driver.function(driver.load(EMPTY), "empty")
        self.values = (ctypes.c_uint64 * count)(*range(count))
        first = ctypes.addressof(self.values)
        self.pointers = (c_void_p * count)(*(first + 8 * k for k in range(count)))
        base = ctypes.addressof(self.pointers)
        self.rows = (Row * count)(
            *(Row(kernel.handle.value, 132, 128, 0, 0, base + 8 * k) for k in range(count))
        )
        self.engine = compiled(LOOP)
        kind = ctypes.CFUNCTYPE(ctypes.c_int, c_void_p, ctypes.c_int64, c_void_p, c_void_p)
        self.start = kind(self.engine.get_function_address("start"))
        self.launch = ctypes.cast(driver.library.cuLaunchKernel, c_void_p)

    def run(self, stream: c_void_p | None = None) -> None:
        """Start all."""
        code = self.start(ctypes.addressof(self.rows), len(self.rows), self.launch, stream)
        assert code == 0, f"launches: the driver's errors, joined, are {code}."

    def graph(self) -> Callable[[], None]:
        """All launches as one graph; what is given starts it."""
        stream, graph, ready = c_void_p(), c_void_p(), c_void_p()
        self.driver.call("cuStreamCreate", byref(stream), 1)  # CU_STREAM_NON_BLOCKING
        self.driver.call("cuStreamBeginCapture_v2", stream, 1)  # of this thread alone
        self.run(stream)
        self.driver.call("cuStreamEndCapture", stream, byref(graph))
        self.driver.call("cuGraphInstantiateWithFlags", byref(ready), graph, ctypes.c_ulonglong(0))
        return lambda: self.driver.call("cuGraphLaunch", ready, stream)


def compiled(text: str) -> llvm.ExecutionEngine:
    """Machine code for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def launches(driver: Driver) -> dict[str, Any]:
    """Seconds of the host, until all are started and until all are done, for 300 kernels."""
    table = Table(driver, COUNT)
    kernel = driver.function(driver.load(EMPTY), "empty")

    def by_python() -> None:
        for k in range(COUNT):
            driver.launch(kernel, 132, 128, [k])

    works = {"python": by_python, "native loop": table.run, "graph": table.graph()}
    found: dict[str, Any] = {"launches": COUNT}
    for name, work in works.items():
        started, done = [], []
        for _ in range(ROUNDS):
            driver.synchronize()
            began = time.perf_counter()
            work()
            started.append(time.perf_counter() - began)
            driver.synchronize()
            done.append(time.perf_counter() - began)
        found[name] = {"host": median(started), "done": median(done), "least": min(started)}
    return found
