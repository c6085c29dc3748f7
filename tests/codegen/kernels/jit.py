"""Runs one generated kernel on this machine, for the tests of kernels.

Compiled, kept and linked as users' are, but run without a pool: threads run one after another,
which is legal because a kernel never waits; scratch memory is private to each, and full of NaN so
that nothing unwritten is used.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence

import llvmlite.binding as llvm
import numpy as np

from gnomon.runtime.cpu import compile_kernels
from gnomon.runtime.device import host
from gnomon.runtime.linking import LEVEL, link
from gnomon.runtime.worker import prepare

# the code that users get, with the same options
prepare()


def machine_for(
    cpu: str = "", features: str = "", triple: str = "", level: int = LEVEL
) -> llvm.TargetMachine:
    """An LLVM target machine: this machine's, or another CPU's to read its assembly."""
    target = llvm.Target.from_triple(triple or llvm.get_process_triple())
    return target.create_target_machine(
        cpu=cpu or llvm.get_host_cpu_name(),
        features=features if cpu else llvm.get_host_cpu_features().flatten(),
        opt=level,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


def parse(text: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """A verified module for a target machine."""
    module = llvm.parse_assembly(text)
    module.verify()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return module


def assembly(text: str, cpu: str, features: str = "", triple: str = "") -> str:
    """The assembly of a module for a CPU that need not be this one."""
    machine = machine_for(cpu, features, triple or "x86_64-unknown-linux-gnu")
    return machine.emit_assembly(parse(text, machine))


class Kernel:
    """A compiled kernel and the scratch memory that it asked for."""

    def __init__(self, text: str, name: str, scratch: int, parts: Sequence[str] = ()) -> None:
        # a text that comes again, as it does for each of several processors, is compiled once
        self.library = link(compile_kernels([text, *parts], host()), [name])
        kinds = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        self.call = ctypes.CFUNCTYPE(None, *kinds)(self.library.addresses[name])
        self.scratch = scratch

    def __call__(
        self,
        buffers: Sequence[np.ndarray | int],
        threads: int = 1,
        memory: Callable[[int], np.ndarray] | None = None,
    ) -> None:
        slots = [b if isinstance(b, int) else b.ctypes.data for b in buffers]
        table = (ctypes.c_int64 * len(slots))(*slots)
        for thread in range(threads):
            scratch = (memory or aligned)(self.scratch)
            self.call(ctypes.addressof(table), thread, threads, scratch.ctypes.data)


def aligned(size: int) -> np.ndarray:
    """Bytes that start at a multiple of 64, all ones: NaN as any float."""
    raw = np.full(size + 64, 0xFF, np.uint8)
    return raw[-raw.ctypes.data % 64 :][:size]
