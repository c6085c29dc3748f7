"""Calls of hand-written kernels: one code per description, or one for all sizes."""

from __future__ import annotations

from collections import defaultdict

import pytest

from gnomon.codegen import opaque
from gnomon.codegen.emitter import KERNEL, Module
from gnomon.codegen.families import Families
from gnomon.codegen.lifted import Lifted
from gnomon.codegen.scope import sizes_vary
from tests.schedule.kernels_of import leaf


@pytest.fixture(autouse=True)
def _nothing_written(monkeypatch):
    monkeypatch.setattr(opaque, "_written", {})
    monkeypatch.setattr(opaque, "_families", defaultdict(Families))


def emit(module: Module, name: str, size: int | Lifted) -> int | Lifted:
    """A kernel that stores its size."""
    e = module.function(name, KERNEL)
    e.store(str(size), e.load("%buffers", "ptr", 8), "i64", 8)
    e.ret()
    return size


def called(size: int, **more: int) -> opaque.OpaqueCall:
    """A call of that kernel, with two buffers."""
    return opaque.call("sized", emit, (size,), (leaf(size), leaf(size)), size, **more)


def test_a_code_is_made_once_per_description():
    assert called(5).code is called(5).code
    assert called(5).code.symbol != called(6).code.symbol
    assert not called(5).numbers


def test_where_sizes_vary_a_call_carries_its_own():
    called(5)
    with sizes_vary.set(True):
        one, other = called(6), called(7)

    assert one.code.symbol == other.code.symbol
    assert (one.numbers, other.numbers) == ((6,), (7,))
    assert (one.code.scratch, other.code.scratch) == (6, 7)


def test_numbers_stand_behind_buffers_and_reports():
    for checks, place in ((0, 16), (1, 32)):
        called(5, checks=checks)
        with sizes_vary.set(True):
            found = called(6 + checks, checks=checks)

        assert f"getelementptr i8, ptr %buffers, i64 {place}" in found.code.text
        opaque._written.clear()
        opaque._families.clear()
