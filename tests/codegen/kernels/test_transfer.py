"""The code of a transfer's calls: thread 0 alone calls what the group's block names."""

from __future__ import annotations

import ctypes

import pytest

from gnomon.codegen.kernels.transfer import transfer_code
from gnomon.runtime import cpu

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("step", "expected"), [("start", ["start"]), ("wait", ["wait"])])
def test_thread_0_calls_the_groups_function(step: str, expected: list[str]):
    called: list[str] = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    entries = [kind(lambda slots, name=name: called.append(name)) for name in ("start", "wait")]
    block = (ctypes.c_void_p * 2)(*(ctypes.cast(x, ctypes.c_void_p).value for x in entries))
    slots = (ctypes.c_void_p * 3)(0, 0, ctypes.addressof(block))
    code = transfer_code(step)
    loaded = cpu.load({code.symbol: code.text})
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    run = kind(loaded[code.symbol])

    for thread in (1, 0):
        run(ctypes.addressof(slots), thread, 2, None)

    assert called == expected
