"""What a register-blocked kernel asks of a processor: its vector registers and its caches.

Of instruction sets only what LLVM cannot choose by itself. Nothing here may change a result, only
its speed.
"""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.codegen.emitter import BITS


@dataclass(frozen=True)
class Machine:
    """A processor, as microkernels see it; caches in bytes, of L3 one core's share.

    `instructions` are those that kernels ask for by name, and the register ("mxcsr" or "fpcr")
    that says what denormals are.
    """

    name: str
    vector_bits: int
    registers: int
    l1: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 16 << 20
    instructions: tuple[str, ...] = ("mxcsr",)
    last: int = 32 << 20
    """Bytes of the whole last cache."""

    def is_far(self, size: int) -> bool:
        """Whether so many bytes, written once, leave the caches before they are read."""
        return size > self.last

    def lanes(self, scalar: str) -> int:
        """How many values of an LLVM type one register holds."""
        return self.vector_bits // BITS[scalar]


AVX2 = Machine("avx2", 256, 16, instructions=("mxcsr", "pmaddwd"))
AVX512 = Machine("avx512", 512, 32, 48 << 10, 1 << 20, 32 << 20, ("mxcsr", "pmaddwd"))
NEON = Machine("neon", 128, 32, 64 << 10, 1 << 20, 8 << 20, ("fpcr",))
