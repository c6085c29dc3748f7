"""LLVM IR as it is written: stable names, exact numbers, what folds away; LLVM takes it."""

from __future__ import annotations

import ctypes
import math
import struct

import numpy as np
import pytest

from gnomon.codegen.emitter import Emitter, Module, literal, mask, splat, vector
from tests.codegen.kernels.jit import Kernel


def sum_below(e: Emitter) -> None:
    """Stores 0 + 1 + ... + (n - 1) behind the address of the first slot, n in the second."""
    place = e.load("%buffers", "ptr", 8)
    count = e.load(e.offset("%buffers", 8), "i64", 8)
    (total,) = e.loop(0, count, 1, lambda i, s: [e.value(f"add i64 {s}, {i}")], [("i64", "0")])
    e.store(total, place, "i64", 8)
    e.ret()


def kernel(write) -> Kernel:
    """A kernel whose body is written by a function."""
    module = Module()
    parameters = [("ptr", "buffers"), ("i64", "thread"), ("i64", "threads"), ("ptr", "scratch")]
    write(module.function("made", parameters))
    return Kernel(module.text(), "made", 64)


@pytest.mark.parametrize(("count", "total"), [(0, 0), (1, 0), (5, 10)])
def test_a_loop_runs_as_often_as_it_says_and_carries_its_state(count, total):
    found = np.full(1, -1, np.int64)

    kernel(sum_below)([found, count])

    assert found[0] == total


def test_masked_lanes_are_neither_read_nor_written():
    def copy(e: Emitter) -> None:
        target = e.load("%buffers", "ptr", 8)
        given = e.load(e.offset("%buffers", 8), "ptr", 8)
        on = mask(3)
        kept = e.load_masked(given, on, "float")
        e.store_masked(e.fma(kept, splat(2.0), splat(1.0)), target, on, "float")
        e.ret()

    found, given = np.zeros(16, np.float32), np.arange(3, dtype=np.float32)
    kernel(copy)([found, given])

    assert found.tolist() == [1.0, 3.0, 5.0, *[0.0] * 13]


def test_a_condition_guards_its_block():
    def choose(e: Emitter) -> None:
        place = e.load("%buffers", "ptr", 8)
        number = e.load(e.offset("%buffers", 8), "i64", 8)
        e.when(e.value(f"icmp sgt i64 {number}, 2"), lambda: e.store("7", place, "i64", 8))
        e.ret()

    found = np.zeros(1, np.int64)
    for number in (2, 3):
        kernel(choose)([found, number])
        assert found[0] == (7 if number == 3 else 0)


@pytest.mark.unit
@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, -1e-45, math.inf, 3e38])
def test_a_number_is_spelled_to_the_bit(value):
    kept = struct.unpack("<d", struct.pack("<Q", int(literal(value), 16)))[0]

    assert struct.pack("<d", kept) == struct.pack("<d", ctypes.c_float(value).value)


@pytest.mark.unit
def test_known_integers_fold_and_leave_no_instruction():
    e = Module().function("made", [])
    before = len(e.lines)

    assert [e.add(2, 3), e.add("%x", 0), e.add(0, "%x")] == ["5", "%x", "%x"]
    assert [e.mul("%x", 0), e.mul("%x", 1), e.mul(1, "%x")] == ["0", "%x", "%x"]
    assert [e.sub("%x", 0), e.offset("%p", 0)] == ["%x", "%p"]
    assert len(e.lines) == before


@pytest.mark.unit
def test_the_same_calls_give_the_same_text_and_declare_once():
    def text() -> str:
        module = Module()
        e = module.function("made", [("ptr", "p")])
        x = e.load("%p", vector("float"), 4)
        e.fma(e.fma(x, x, x), x, x)
        e.ret()
        return module.text()

    assert text() == text()
    assert text().count("declare") == 1
