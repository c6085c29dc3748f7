"""The native functions: their text for every processor, the floating-point state, the layouts."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.runtime import cpu, device, native
from gnomon.runtime.program import Call, InputSlot, Needs, OutputSlot
from gnomon.runtime.threads import get_num_threads, set_num_threads
from tests.runtime.kernels import add_text, addresses, program_of

ARM = device.host().name == "neon"

ODD = 0x1C00000 if ARM else 0xFFC0
"""A floating-point state that nobody wants: denormals as zero, rounding to zero."""

STICKY = 0 if ARM else 0x3F
"""Flags that any arithmetic of the interpreter may set."""


def floats_text() -> str:
    """A module whose `set_state` sets the floating-point state and gives the one before."""
    module = LLVMModule()
    native.write_floats(module, device.host())
    e = module.function("set_state", [("i64", "state")], returns="i64")
    before = e.call("i64", "floats")
    e.call("void", "restore", ("i64", "%state"))
    e.ret(f"i64 {before}")
    return module.text()


@pytest.fixture
def set_state():
    """Sets this thread's floating-point state, giving the one before; undone after the test."""
    functions = cpu.load({"set_state": floats_text()})
    address = functions["set_state"]
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)
    before = function(0 if ARM else native.X86_FLOATS)
    yield function
    function(before)


@pytest.mark.parametrize("name", [*device.FOREIGN])
def test_there_is_code_for_every_kind_of_processor(name):
    target = device.foreign(name)

    assert cpu.compile_kernels([native.text_for(target)], target)


def test_no_flag_of_fast_math_is_emitted():
    text = native.text_for(device.foreign("avx2"))

    assert not {"fast", "reassoc", "nnan", "ninf", "contract"} & set(text.split())


def test_counters_of_different_threads_stand_on_different_lines():
    shared = (native.GENERATION, native.DONE, native.SLEEPERS, native.ARRIVED, native.PHASE)

    assert len({place // 64 for place in shared}) == len(shared)


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_see_denormals_whatever_the_caller_had_set(set_state, threads):
    n, before = 64, get_num_threads()
    tiny, out = np.full(n, 1e-40, np.float32), np.ones(n, np.float32)
    expected = (tiny + tiny).view(np.int32).copy()
    program = program_of(
        {"test_native_add": add_text("test_native_add", n)},
        [Call("test_native_add", (OutputSlot(0), InputSlot(0), InputSlot(0)))],
        Needs(1, 1),
    )
    set_num_threads(threads)

    wanted = set_state(ODD)
    program.run(addresses(tiny), addresses(out))
    after = set_state(wanted)
    set_num_threads(before)

    assert (out.view(np.int32) == expected).all()
    assert after & ~STICKY == ODD
