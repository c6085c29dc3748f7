"""The most that a card does: copies, multiply-adds, tensor cores, launches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.cuda.driver import Driver, Kernel

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
START = """
  .reg .pred %p<9>; .reg .b32 %r<64>; .reg .b64 %rd<32>; .reg .f32 %f<64>;
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x;
  mad.lo.u32 %r4, %r1, %r2, %r0; mul.lo.u32 %r5, %r2, %r3;
  cvt.u64.u32 %rd0, %r4; cvt.u64.u32 %rd1, %r5;"""
"""The thread's number and the number of threads, in %rd0 and %rd1."""

COPY = f"""{HEAD}
.visible .entry copy(.param .u64 source, .param .u64 goal, .param .u64 count) {{{START}
  ld.param.u64 %rd2, [source]; ld.param.u64 %rd3, [goal]; ld.param.u64 %rd4, [count];
  cvta.to.global.u64 %rd2, %rd2; cvta.to.global.u64 %rd3, %rd3;
again:
  setp.ge.u64 %p0, %rd0, %rd4; @%p0 bra done;
  shl.b64 %rd5, %rd0, 4; add.u64 %rd6, %rd2, %rd5; add.u64 %rd7, %rd3, %rd5;
  ld.global.v4.b32 {{%r8, %r9, %r10, %r11}}, [%rd6];
  st.global.v4.b32 [%rd7], {{%r8, %r9, %r10, %r11}};
  add.u64 %rd0, %rd0, %rd1; bra again;
done:
  ret;
}}"""
"""16 bytes a thread, strided by the number of threads."""

EMPTY = f"""{HEAD}
.visible .entry empty(.param .u64 unused) {{ ret; }}"""

ROUNDS, CHAINS, REPEATS = 512, 8, 8


def looped(name: str, registers: str, body: str, results: Sequence[str]) -> str:
    """A kernel that repeats `body` and stores the sum of its results, so that all are needed."""
    total = " ".join(f"add.rn.f32 {results[0]}, {results[0]}, {x};" for x in results[1:])
    return f"""{HEAD}
.visible .entry {name}(.param .u64 goal) {{{START}
  ld.param.u64 %rd2, [goal]; cvta.to.global.u64 %rd2, %rd2;
  {registers}
  mov.u32 %r6, 0;
again:
  .pragma "nounroll";
  {REPEATS * (body + chr(10))}
  add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, {ROUNDS}; @%p0 bra again;
  {total}
  shl.b64 %rd5, %rd0, 2; add.u64 %rd6, %rd2, %rd5; st.global.f32 [%rd6], {results[0]};
  ret;
}}"""


def fma_text() -> str:
    """Chains of fp32 multiply-adds."""
    registers = " ".join(f"mov.f32 %f{k}, 0f3F800000;" for k in range(CHAINS + 1))
    body = " ".join(f"fma.rn.f32 %f{k}, %f{k}, %f{CHAINS}, %f{CHAINS};" for k in range(CHAINS))
    return looped("fma", registers, body, [f"%f{k}" for k in range(CHAINS)])


def mma_text(kind: str) -> str:
    """Chains of m16n8k16 products of one warp, with sums in fp32."""
    registers = " ".join(f"mov.b32 %r{8 + k}, 0x3F803F80;" for k in range(6))
    registers += " " + " ".join(f"mov.f32 %f{k}, 0f00000000;" for k in range(4 * CHAINS))
    a, b = "{%r8, %r9, %r10, %r11}", "{%r12, %r13}"
    sums = ["{" + ", ".join(f"%f{4 * k + i}" for i in range(4)) + "}" for k in range(CHAINS)]
    name = f"mma.sync.aligned.m16n8k16.row.col.f32.{kind}.{kind}.f32"
    body = "\n  ".join(f"{name} {c}, {a}, {b}, {c};" for c in sums)
    return looped("mma", registers, body, [f"%f{4 * k}" for k in range(CHAINS)])


def rate(driver: Driver, kernel: Kernel, grid: int, block: int, operations: float) -> float:
    """Operations a second, the median of five."""
    goal = driver.allocate(4 * grid * block)
    start = partial(driver.launch, kernel, grid, block, [goal])
    start()
    seconds = median(driver.seconds(start) for _ in range(5))
    driver.free(goal)
    return operations / seconds


def copies(driver: Driver, multiprocessors: int) -> dict[str, float]:
    """Bytes a second, read and written, of the driver's copy and of 16 bytes a thread."""
    nbytes = 1 << 30
    source, goal = driver.allocate(nbytes), driver.allocate(nbytes)
    kernel = driver.function(driver.load(COPY), "copy")
    works = {
        "memcpy": partial(driver.copy, goal, source, nbytes),
        "kernel": partial(
            driver.launch, kernel, 8 * multiprocessors, 256, [source, goal, nbytes // 16]
        ),
    }
    found = {}
    for name, work in works.items():
        work()
        found[name] = 2 * nbytes / median(driver.seconds(work) for _ in range(7))
    driver.free(source)
    driver.free(goal)
    return found


def launches(driver: Driver, count: int = 300) -> dict[str, float]:
    """Seconds of the host and of the card for each of `count` empty kernels."""
    kernel = driver.function(driver.load(EMPTY), "empty")

    def work() -> None:
        for _ in range(count):
            driver.launch(kernel, 132, 128, [0])

    work()
    driver.synchronize()
    hosts, cards = [], []
    for _ in range(7):
        began = time.perf_counter()
        work()
        hosts.append(time.perf_counter() - began)
        driver.synchronize()
        cards.append(driver.seconds(work))
    return {"host": median(hosts) / count, "card": median(cards) / count}


def ceilings(driver: Driver) -> dict[str, Any]:
    """All figures of this file, in bytes, operations and seconds."""
    figures: dict[str, Any] = dict(driver.describe())
    count = figures["multiprocessors"]
    figures["copy"] = copies(driver, count)
    kernel = driver.function(driver.load(fma_text()), "fma")
    grid, block = 8 * count, 256
    figures["fma"] = rate(
        driver, kernel, grid, block, 2.0 * CHAINS * REPEATS * ROUNDS * grid * block
    )
    for kind in ("bf16", "f16"):
        kernel = driver.function(driver.load(mma_text(kind)), "mma")
        operations = 2.0 * 16 * 8 * 16 * CHAINS * REPEATS * ROUNDS * grid * block / 32
        figures[f"mma {kind}"] = rate(driver, kernel, grid, block, operations)
    figures["launch"] = launches(driver)
    return figures
