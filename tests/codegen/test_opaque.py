"""Calls of hand-written kernels: one code per description, or one for all sizes."""

from __future__ import annotations

import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.families import NumberedCode
from gnomon.codegen.lifted import Lifted
from gnomon.codegen.opaque import OpaqueCall
from gnomon.ir import memo
from tests.schedule.kernels_of import leaf


@pytest.fixture(autouse=True)
def _nothing_written():
    memo.clear()


def emit(module: LLVMModule, name: str, size: int | Lifted) -> int | Lifted:
    """A kernel that stores its size."""
    e = module.function(name, KERNEL)
    e.store(str(size), e.load("%buffers", "ptr", 8), "i64", 8)
    e.ret()
    return size


def called(size: int, sizes_vary: bool = False, checks: int = 0) -> NumberedCode:
    """The code of a call of that kernel, with two buffers."""
    described = OpaqueCall("sized", emit, (size,), (leaf(size), leaf(size)), size, checks=checks)
    return described.given(sizes_vary)


def test_a_code_is_made_once_per_description():
    assert called(5).code is called(5).code
    assert called(5).code.symbol != called(6).code.symbol
    assert not called(5).numbers


def test_where_sizes_vary_a_call_carries_its_own():
    called(5)
    one, other = called(6, sizes_vary=True), called(7, sizes_vary=True)

    assert one.code.symbol == other.code.symbol
    assert (one.numbers, other.numbers) == ((6,), (7,))
    assert (one.code.scratch, other.code.scratch) == (6, 7)


def test_numbers_stand_behind_buffers_and_reports():
    for checks, place in ((0, 16), (1, 32)):
        called(5, checks=checks)
        found = called(6 + checks, sizes_vary=True, checks=checks)

        assert f"getelementptr i8, ptr %buffers, i64 {place}" in found.code.text
        memo.clear()
