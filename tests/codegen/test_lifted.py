"""Integers that are read when code runs: what is computed of them, and what is decided."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.lifted import Lifted, Lifting, Unliftable, by_caller, is_lifted
from gnomon.ir.memo import digest
from gnomon.runtime import cpu
from tests import drawn as st
from tests.drawn import given

Formula = Callable[[int | Lifted, int | Lifted], int | Lifted]

FORMULAS: dict[str, Formula] = {
    "sums": lambda a, b: a + b - 3 + (5 - a),
    "products": lambda a, b: a * b * 2 - b * 0 + 1 * a,
    "quotients": lambda a, b: -(-a // 7) + (a - 100) // b + 90 // b,
    "remainders": lambda a, b: a % 64 + (a - 100) % b + 90 % b,
    "roundings": lambda a, b: (a + 63) // 64 * 64 + (b - b % 16),
}


def lifting(first: int = 0) -> tuple[LLVMModule, Lifting]:
    """A function that does nothing yet, and numbers for it."""
    module = LLVMModule()
    module.function("own", KERNEL)
    return module, Lifting(module, "own", first)


def machine_code(formula: Formula) -> Callable[[int, int], int]:
    """A formula of two numbers as code that was written for the numbers 40 and 9."""
    module, numbers = lifting(first=1)
    e = module.functions["own"]
    found = formula(numbers.number(40), numbers.number(9))
    e.store(str(found), e.load("%buffers", "ptr", 8), "i64", 8)
    e.ret()
    numbers.close()
    text = module.text()
    name = f"lifted{digest(text)}"
    functions = cpu.load({name: text.replace("@own(", f"@{name}(")})
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)

    def run(a: int, b: int) -> int:
        result = np.zeros(1, np.int64)
        slots = np.array([result.ctypes.data, a, b], np.int64)
        call(functions[name])(slots.ctypes.data, 0, 1, None)
        return int(result[0])

    return run


@pytest.mark.parametrize("name", FORMULAS)
def test_code_computes_as_python_does(name: str):
    run = machine_code(FORMULAS[name])
    for a in (-65, -1, 0, 1, 63, 64, 1000):
        for b in (-5, 1, 16, 777):
            assert run(a, b) == FORMULAS[name](a, b)


@given(st.integers(0, 200), st.integers(1, 200))
def test_a_reading_is_what_the_code_computes(a: int, b: int):
    _, numbers = lifting()
    x, y = numbers.number(1), numbers.number(1)
    for formula in FORMULAS.values():
        found = formula(x, y)
        assert isinstance(found, Lifted)
        assert found.reading((a, b)) == formula(a, b)


def test_what_is_decided_by_a_value_is_kept():
    _, numbers = lifting()
    x = numbers.number(40)

    assert [x + 2 < 64, x == 3, bool(x // 8)] == [True, False, True]

    assert [numbers.holds((k,)) for k in (41, 9, 62, 3, 7)] == [True, True, False, False, False]


def test_a_number_that_has_to_be_known_is_served_alone():
    _, numbers = lifting()
    x = numbers.number(4)

    assert [list(range(x)), {4: "four"}[x]] == [[0, 1, 2, 3], "four"]

    assert [numbers.holds((k,)) for k in (4, 5)] == [True, False]


def test_what_is_only_computed_decides_nothing():
    module, numbers = lifting()
    x = numbers.number(40)
    e = module.functions["own"]

    e.mul(e.add("%thread", x), x * 4 + 1)
    numbers.close()

    assert not numbers.guards
    assert module.text().count("load i64") == 1


def test_a_divisor_is_not_zero():
    _, numbers = lifting()

    assert is_lifted(100 // numbers.number(7))

    assert not numbers.holds((0,))


def test_a_function_that_needs_a_number_is_given_the_buffers():
    module, numbers = lifting()
    inner = module.function("inner", [("i64", "x")], returns="i64", linkage="internal")
    inner.ret(f"i64 {inner.add('%x', numbers.number(3) * 2)}")
    between = module.function("between", [], returns="i64", linkage="internal")
    between.ret(f"i64 {between.call('i64', 'inner', ('i64', '5'))}")
    e = module.functions["own"]
    e.store(e.call("i64", "between"), e.load("%buffers", "ptr", 8), "i64", 8)

    numbers.close()

    text = module.text()
    assert "@inner(ptr %buffers, i64 %x)" in text
    assert "@inner(ptr %buffers, i64 5)" in text
    assert "@between(ptr %buffers)" in text
    assert "call i64 @between(ptr %buffers)" in text
    assert text.count("load i64") == 1


def test_a_number_in_a_table_is_refused():
    module, numbers = lifting()
    module.define(f"@table = constant i64 {numbers.number(3)}")

    with pytest.raises(Unliftable, match="used in a table"):
        numbers.close()


def test_a_fraction_of_a_number_is_refused():
    _, numbers = lifting()

    with pytest.raises(Unliftable, match=r"n0 \* 1.5 is not of two integers"):
        numbers.number(3) * 1.5


def test_what_only_known_integers_have_is_refused():
    _, numbers = lifting()

    with pytest.raises(Unliftable, match="n0 has no bit_length"):
        numbers.number(3).bit_length()


def test_what_a_caller_computes_is_passed_after_its_numbers():
    def largest(a: int, b: int) -> tuple[int, ...]:
        return max(a, b), a.bit_length()

    _, numbers = lifting()
    one, other = numbers.number(40), numbers.number(9)
    high, bits = by_caller(largest, 2, one + 1, other)

    assert by_caller(largest, 2, 41, 9) == (41, 6)
    assert numbers.passed((40, 9)) == (40, 9, 41, 6)
    assert numbers.passed((3, 90)) == (3, 90, 90, 3)
    assert (high * 2).reading((3, 90)) == 180
    assert is_lifted(bits)
