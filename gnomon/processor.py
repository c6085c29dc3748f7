"""The processor that code is made for: what microkernels are told of it."""

from __future__ import annotations

from functools import cache

from gnomon.codegen.machine import Machine
from gnomon.runtime import device, system

__all__ = ["machine", "machine_of"]


@cache
def machine_of(target: device.Target) -> Machine:
    """What microkernels are told of a processor."""
    caches = system.caches()
    return Machine(
        target.name,
        target.vector_bits,
        target.registers,
        caches.l1,
        caches.l2,
        caches.l3 // system.usable_cores(),
        instructions_of(target),
        caches.l3,
    )


def instructions_of(target: device.Target) -> tuple[str, ...]:
    """What kernels may ask for by name."""
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
    """The processor that code is made for now."""
    return machine_of(device.target())
