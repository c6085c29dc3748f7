"""Scratch memory of folds: the largest block that came back is used again."""

from __future__ import annotations

import ctypes

from gnomon.codegen.emitter import LLVMModule
from gnomon.runtime import cpu, device, linking
from gnomon.runtime.comm import scratch

TAKE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
FORGET = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GIVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def functions() -> linking.Library:
    """Functions that do nothing else."""
    module = LLVMModule()
    e = module.function("take", [("ptr", "spare"), ("i64", "nbytes")], returns="ptr")
    e.ret(f"ptr {scratch.take(e, '%spare', '%nbytes')}")
    e = module.function("give", [("ptr", "spare"), ("ptr", "block")])
    scratch.give(e, "%spare", "%block")
    e.ret()
    e = module.function("forget", [("ptr", "spare")])
    scratch.forget(e, "%spare")
    e.ret()
    code = cpu.compile_kernels([module.text()], device.host())
    return linking.link(code, ["take", "give", "forget"])


def test_the_largest_block_that_came_back_is_taken_again():
    found = functions()
    take, give = TAKE(found.addresses["take"]), GIVE(found.addresses["give"])
    spare = ctypes.c_void_p(None)
    at = ctypes.addressof(spare)

    small, large = take(at, 100), take(at, 5000)
    for block in (small, large):
        ctypes.memset(block, 7, 100)
        give(at, block)

    assert take(at, 4000) == large
    other = take(at, 1)
    assert other not in (None, large)
    give(at, large)
    give(at, other)
    assert take(at, 5000) == large


def test_a_group_that_ends_keeps_nothing():
    found = functions()
    take, forget = TAKE(found.addresses["take"]), FORGET(found.addresses["forget"])
    spare = ctypes.c_void_p(None)
    GIVE(found.addresses["give"])(ctypes.addressof(spare), take(ctypes.addressof(spare), 100))

    assert spare.value is not None
    for _ in range(2):
        forget(ctypes.addressof(spare))
        assert spare.value is None
