"""LLVM text: numbers spelled exactly, loops and branches that do what they say."""

from __future__ import annotations

import ctypes
import struct

import pytest

from gnomon.codegen.emitter import Emitter, LLVMModule, literal, mask, splat, vector
from gnomon.runtime import cpu, linking
from tests import drawn as st
from tests.drawn import given

ONE = [("i64", "n"), ("ptr", "out")]


def call(write, n: int) -> int:
    """Run a function of an integer that stores its result."""
    module = LLVMModule()
    e = module.function("f", ONE)
    write(e)
    e.ret()
    code = cpu.compile_kernels([module.text()])
    library = linking.link(code, ["f"])
    address = library.addresses["f"]
    result = ctypes.c_int64(-1)
    ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)(n, ctypes.addressof(result))
    return result.value


@pytest.mark.unit
@given(st.floats(width=32, allow_nan=False))
def test_a_float_is_spelled_by_its_bits(number: float):
    spelled = int(literal(number, "float"), 16)

    assert struct.unpack("<d", struct.pack("<Q", spelled))[0] == number


@pytest.mark.unit
def test_what_is_too_large_for_a_float_is_infinite():
    assert literal(1e300, "float") == literal(float("inf"), "float")
    assert literal(-1e300, "float") == literal(float("-inf"), "float")
    assert literal(1e300, "double") != literal(float("inf"), "double")


@pytest.mark.unit
def test_integers_are_spelled_in_decimal():
    assert literal(-7, "i64") == "-7"
    assert splat(3, "i32", 2) == "<i32 3, i32 3>"
    assert vector("float", 4) == "<4 x float>"
    assert mask(1, 3) == "<i1 true, i1 false, i1 false>"


@pytest.mark.unit
def test_a_declaration_is_written_once():
    module = LLVMModule()
    e = module.function("f", ONE)
    for _ in range(2):
        e.least("%n", 3)
    e.ret()

    assert module.text().count("declare") == 1


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_loop_carries_its_state(n: int):
    def triangle(e: Emitter) -> None:
        (total,) = e.loop(0, "%n", 1, lambda i, s: [e.add(s, i)], [("i64", "0")])
        e.store(total, "%out", "i64", 8)

    assert call(triangle, n) == n * (n - 1) // 2


def test_loops_nest():
    def count(e: Emitter) -> None:
        def outer(i: str, s: str) -> list[str]:
            return e.loop(0, i, 1, lambda j, t: [e.add(t, 1)], [("i64", s)])

        (total,) = e.loop(0, "%n", 1, outer, [("i64", "0")])
        e.store(total, "%out", "i64", 8)

    assert call(count, 5) == 10


@pytest.mark.parametrize(("n", "expected"), [(3, 1), (4, -1)])
def test_a_branch_is_taken_or_not(n: int, expected: int):
    def odd(e: Emitter) -> None:
        test = e.value("trunc i64 %n to i1")
        e.when(test, lambda: e.store("1", "%out", "i64", 8))

    assert call(odd, n) == expected


def test_the_least_of_two():
    def least(e: Emitter) -> None:
        e.store(e.least("%n", 4), "%out", "i64", 8)

    assert (call(least, 3), call(least, 9)) == (3, 4)


@pytest.mark.unit
def test_what_is_written_past_the_caches_is_there_afterwards():
    def write(e: Emitter) -> None:
        e.store_far("%n", "%out", "i64", 8)
        e.settle()

    assert call(write, 41) == 41
