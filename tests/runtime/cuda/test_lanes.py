"""Texts of vectors as texts of a lane a thread: what each line becomes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, LANE_NUMBERS, LANES, LLVMModule, mask, splat, vector
from gnomon.errors import CompileError
from gnomon.runtime import cpu
from gnomon.runtime.cuda.lanes import by_lanes, teamwork
from gnomon.runtime.cuda.texts import PTX, entry_text, width_of
from tests.cuda.ptx import Kernel, Memory

R = np.random.default_rng(0)
KINDS = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "half": np.float16,
    "float": np.float32,
    "double": np.float64,
}


def ptx_of(body, symbol: str = "lanes") -> str:
    """The PTX of a kernel, written by body(emitter, first operand, result)."""
    module = LLVMModule()
    module.define(f"; threads {LANES}")
    e = module.function(symbol, KERNEL)
    body(e, e.buffer(0), e.buffer(1))
    e.ret()
    text = module.text()
    assert width_of(text) == LANES
    return cpu.compile_kernels([entry_text(symbol, {symbol: text})], PTX)[0].decode()


def run(body, given: np.ndarray, made: np.ndarray, threads: int = LANES) -> np.ndarray:
    """What threads of one block make of numbers."""
    memory = Memory(1 << 20)
    places = [memory.allocate(x.nbytes) or 0 for x in (given, made)]
    table = memory.allocate(16) or 0
    memory.view(table, 16).view(np.int64)[:] = places
    for place, x in zip(places, (given, made), strict=True):
        memory.view(place, x.nbytes)[:] = x.reshape(-1).view(np.uint8)
    Kernel(ptx_of(body)).run(memory, [table, table, 0], 1, threads)
    return memory.view(places[1], made.nbytes).view(made.dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "order", [[k ^ by for k in range(LANES)] for by in (8, 4, 2, 1)] + [[0] * 16]
)
def test_lanes_change_places(kind, order):
    size = np.dtype(KINDS[kind]).itemsize

    def body(e, x, y) -> None:
        found = e.load(x, vector(kind), size)
        e.store(e.shuffle(found, found, order, kind), y, vector(kind), size)

    given = R.integers(-100, 100, LANES).astype(KINDS[kind])
    assert run(body, given, np.zeros_like(given)).tolist() == given[order].tolist()


def test_masks_numbers_and_places():
    def body(e, x, y) -> None:
        e.store(splat(7, "i64"), y, vector("i64"), 8)
        found = e.load_masked(x, mask(5), "i64", splat(-1, "i64"))
        e.store_masked(e.value(f"add {vector('i64')} {found}, {LANE_NUMBERS}"), y, mask(9), "i64")

    given = R.integers(0, 100, LANES)
    made = run(body, given, np.zeros_like(given))

    assert made[:5].tolist() == (given[:5] + np.arange(5)).tolist()
    assert made[5:9].tolist() == [4, 5, 6, 7]
    assert made[9:].tolist() == [7] * 7


def test_elements_from_anywhere_and_from_one_place():
    def body(e, x, y) -> None:
        back = e.value(f"sub {vector('i64')} {splat(15, 'i64')}, {LANE_NUMBERS}")
        places = e.value(f"getelementptr i32, ptr {x}, {vector('i64')} {back}")
        one = e.broadcast(e.load(e.offset(x, 12), "i32", 4), "i32")
        found = e.gather(places, mask(11), x, "i32", splat(5, "i32"))
        e.store(e.value(f"add {vector('i32')} {found}, {one}"), y, vector("i32"), 4)

    given = R.integers(0, 100, LANES).astype(np.int32)
    made = run(body, given, np.zeros_like(given))

    wanted = np.where(np.arange(LANES) < 11, given[::-1], 5) + given[3]
    assert made.tolist() == wanted.tolist()


@pytest.mark.parametrize("threads", [16, 32, 64])
def test_what_any_lane_says_all_know(threads):
    def body(e, x, y) -> None:
        found = e.load(e.offset(x, e.mul("%thread", 4 * LANES)), vector("i32"), 4)
        on = e.value(f"icmp eq {vector('i32')} {found}, {splat(3, 'i32')}")
        votes = e.value(f"bitcast {vector('i1')} {on} to i16")
        bits = e.value(f"zext i16 {votes} to i32")
        some = e.value(f"call i1 @llvm.vector.reduce.or.v16i1({vector('i1')} {on})")
        flag = e.value(f"select i1 {some}, i32 65536, i32 0")
        e.store(e.value(f"or i32 {bits}, {flag}"), e.offset(y, e.mul("%thread", 4)), "i32", 4)

    given = R.integers(0, 8, threads).astype(np.int32)
    given[-LANES:] = 0  # none in the last vector
    made = run(body, given, np.zeros(threads // LANES, np.int32), threads)

    words = [(row == 3) @ (1 << np.arange(LANES)) for row in given.reshape(-1, LANES)]
    assert made.tolist() == [word | 65536 if word else 0 for word in words]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"%v = add <16 x i32> %a, <{', '.join(f'i32 {k * k}' for k in range(16))}>", "different"),
        (
            "%v = shufflevector <16 x i32> %a, <16 x i32> %a, <16 x i32> "
            f"<{', '.join(f'i32 {15 - k // 2}' for k in range(16))}>",
            "an order of their own",
        ),
        ("%v = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %a)", "no lane has this"),
    ],
)
def test_what_no_loop_says_is_refused(line, why):
    with pytest.raises(CompileError, match=why):
        by_lanes(f"define void @f() nounwind {{\nentry:\n  {line}\n  ret void\n}}")


def test_who_works_together_meets():
    assert "bar.warp.sync" in teamwork(16)["meet"]
    assert "bar.sync 0" in teamwork(128)["meet"]
    assert "i64 %number" in teamwork(128)["member"]
