"""Small kernels that the runtime's tests run, written by hand through the emitter.

Not a test. Each splits n elements over the threads by whole vectors; sizes are multiples of 16.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnomon.codegen.emitter import LANES, Emitter, LLVMModule, splat, vector
from gnomon.runtime.cpu import load
from gnomon.runtime.program import Call, Needs, Program

FLOATS = vector("float")
PARAMETERS = [("ptr", "buffers"), ("i64", "thread"), ("i64", "threads"), ("ptr", "scratch")]


def kernel(name: str, body: Callable[[Emitter], None]) -> str:
    """The text of a kernel."""
    module = LLVMModule()
    e = module.function(name, PARAMETERS)
    body(e)
    e.ret()
    return module.text()


def slot(e: Emitter, index: int, kind: str = "ptr") -> str:
    """What a slot holds."""
    return e.load(e.offset("%buffers", 8 * index), kind, 8)


def own_vectors(e: Emitter, n: int, body: Callable[[str], None]) -> None:
    """Run body(byte offset) for each vector of this thread's part."""
    share = e.value(f"udiv i64 {e.add(e.sub('%threads', 1), n // LANES)}, %threads")
    low = e.mul("%thread", share)
    high = e.least(e.add(low, share), n // LANES)
    e.loop(low, high, 1, lambda k: body(e.mul(k, 4 * LANES)))


def add_text(name: str, n: int) -> str:
    """out = a + b."""

    def body(e: Emitter) -> None:
        out, a, b = (slot(e, k) for k in range(3))

        def step(at: str) -> None:
            left, right = (e.load(e.offset(p, at), FLOATS, 4) for p in (a, b))
            e.store(e.value(f"fadd {FLOATS} {left}, {right}"), e.offset(out, at), FLOATS, 4)

        own_vectors(e, n, step)

    return kernel(name, body)


def copy_text(name: str, n: int) -> str:
    """out = a."""

    def body(e: Emitter) -> None:
        out, a = slot(e, 0), slot(e, 1)
        own_vectors(
            e,
            n,
            lambda at: e.store(e.load(e.offset(a, at), FLOATS, 4), e.offset(out, at), FLOATS, 4),
        )

    return kernel(name, body)


def partial_text(name: str, n: int, parts: int) -> str:
    """parts[p] = the vector of lane sums of part p of a; thread t takes p = t, t + threads, ..."""

    def body(e: Emitter) -> None:
        out, a = slot(e, 0), slot(e, 1)
        length = n // parts

        def part(p: str) -> None:
            first = e.offset(a, e.mul(p, 4 * length))

            def step(k: str, total: str) -> list[str]:
                value = e.load(e.offset(first, e.mul(k, 4)), FLOATS, 4)
                return [e.value(f"fadd {FLOATS} {total}, {value}")]

            (total,) = e.loop(0, length, LANES, step, [(FLOATS, splat(-0.0))])
            e.store(total, e.offset(out, e.mul(p, 4 * LANES)), FLOATS, 4)

        e.loop("%thread", parts, "%threads", part)

    return kernel(name, body)


def total_text(name: str, parts: int) -> str:
    """out[0:16] = the sum of the parts' vectors in ascending order, by thread 0."""

    def body(e: Emitter) -> None:
        out, a = slot(e, 0), slot(e, 1)

        def first() -> None:
            def step(k: str, total: str) -> list[str]:
                value = e.load(e.offset(a, e.mul(k, 4 * LANES)), FLOATS, 4)
                return [e.value(f"fadd {FLOATS} {total}, {value}")]

            (total,) = e.loop(0, parts, 1, step, [(FLOATS, splat(-0.0))])
            e.store(total, out, FLOATS, 4)

        e.when(e.value("icmp eq i64 %thread, 0"), first)

    return kernel(name, body)


def increment_text(name: str) -> str:
    """to[thread] = from[thread + 1] + 1: wrong unless each call waits for the one before.

    Slots: from, to, an i64 each per thread. A missed barrier reads an old number.
    """

    def body(e: Emitter) -> None:
        source, target = slot(e, 0), slot(e, 1)
        neighbour = e.value(f"urem i64 {e.add('%thread', 1)}, %threads")
        read = e.load(e.offset(source, e.mul(neighbour, 8)), "i64", 8)
        e.store(e.add(read, 1), e.offset(target, e.mul("%thread", 8)), "i64", 8)

    return kernel(name, body)


def program_of(texts: dict[str, str], calls: list[Call], needs: Needs) -> Program:
    """A program of these kernels."""
    return Program(calls, load(texts), needs)


def addresses(*arrays: np.ndarray) -> list[int]:
    """Where the arrays' elements are."""
    return [array.ctypes.data for array in arrays]
