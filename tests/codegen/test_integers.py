"""Functions of integers: each has one for signed and one for unsigned numbers, and is emitted."""

from __future__ import annotations

import pytest

from gnomon.codegen.emitter import LLVMModule, vector
from gnomon.codegen.integers import instruction, integers, intrinsic, one

pytestmark = pytest.mark.unit
UNARY = ("neg", "abs", "sign", "not")


@pytest.mark.parametrize("signed", [True, False])
def test_each_function_gives_a_value_of_its_kind(signed: bool):
    table = integers(signed)

    assert integers(not signed).keys() == table.keys()
    for name, emit in table.items():
        e = LLVMModule().function("f", f"{vector('i32')} %a, {vector('i32')} %b")
        found = emit(e, "i32", "%a") if name in UNARY else emit(e, "i32", "%a", "%b")
        assert found.startswith("%"), name


def test_an_instruction_is_written_for_vectors():
    e = LLVMModule().function("f", f"{vector('i32')} %a")

    assert instruction("add")(e, "i32", "%a", one("i32")).startswith("%")
    assert intrinsic("llvm.smax")(e, "i32", "%a", one("i32")).startswith("%")
    text = "\n".join(e.lines)
    assert f"add {vector('i32')} %a, {one('i32')}" in text
    assert "@llvm.smax.v16i32" in text
