"""The processor for which code is compiled: parameters of kernels, and instructions."""

from __future__ import annotations

from functools import cache
from typing import Any

from gnomon.codegen.machine import AVX2, AVX512, CARD, NEON, TENSOR_CARD, Machine
from gnomon.ir.memo import memo
from gnomon.program.context import CompileContext
from gnomon.runtime import device, system
from gnomon.runtime.backend import BACKENDS, CUDA
from gnomon.runtime.cuda.driver import driver
from gnomon.settings import current

__all__ = ["MACHINES", "context", "machine", "machine_of"]

MODELLED = ((9, 0),)
"""The compute capabilities of cards whose tensor cores were found to be those of the model."""
MACHINES = {"avx2": AVX2, "avx512": AVX512, "neon": NEON}
"""The processors that program files can be compiled for, by name."""


@memo
@cache
def machine_of(target: device.Target) -> Machine:
    """The parameters of a processor that kernels depend on."""
    caches = system.caches()
    return Machine(
        target.name,
        target.vector_bits,
        target.registers,
        caches.l1,
        caches.l2,
        caches.l3 // system.usable_cores(),
        instructions_of(target),
    )


def instructions_of(target: device.Target) -> tuple[str, ...]:
    """The instructions of a processor that kernels select by name."""
    if target.name == "neon":
        return ("fpcr",)
    wanted = {
        "mxcsr": True,
        "pmaddwd": target.name != "sse2",
        "vpdpwssd": target.has("avxvnni") or (target.has("avx512vnni") and target.has("avx512vl")),
        "vdpbf16ps": target.has("avx512bf16") and target.name == "avx512",
    }
    return tuple(name for name, there in wanted.items() if there)


def machine() -> Machine:
    """The parameters of the processor for which code is made at present."""
    return machine_of(device.target())


def machine_of_card() -> Machine:
    """The parameters of the current card."""
    if current().numerics != "portable" and driver().card.capability in MODELLED:
        return TENSOR_CARD
    return CARD


def context(place: str = "cpu", **asked: Any) -> CompileContext:
    """The context for compiling on a device now; `asked` sets other fields of it."""
    backend = BACKENDS[place]
    found = machine_of_card() if place == CUDA.name else machine()
    return CompileContext(found, backend=backend, **asked)
