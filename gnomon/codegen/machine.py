"""The processor as a register-blocked kernel sees it: vector registers and caches.

Of instruction sets only what LLVM cannot choose by itself. Nothing here may change a result, only
its speed, but for TENSOR_CARD.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gnomon.codegen.emitter import BITS


@dataclass(frozen=True)
class Machine:
    """A processor as microkernels see it; caches in bytes, of L3 one core's share.

    `instructions` are those that kernels select by name, and the register ("mxcsr" or "fpcr") that
    controls denormals.
    """

    name: str
    vector_bits: int
    registers: int
    l1: int = 32 << 10
    l2: int = 512 << 10
    l3: int = 16 << 20
    instructions: tuple[str, ...] = ("mxcsr",)
    last: int = 32 << 20
    """Bytes of the last cache that results are written past: the same on every processor, since
    it decides between two codes (decision 0043)."""

    shares: tuple[str, ...] = ()
    """The ways in which threads share the work of loops (shares.py), besides runs of rows."""

    def is_far(self, size: int) -> bool:
        """Whether `size` bytes exceed the last-level cache."""
        return size > self.last

    def lanes(self, scalar: str) -> int:
        """The number of values of an LLVM type in one register."""
        return self.vector_bits // BITS[scalar]


AVX2 = Machine("avx2", 256, 16, instructions=("mxcsr", "pmaddwd"))
COMMON = AVX2
"""The processor by which all that is seen from outside is decided, whatever runs it: which kernels
there are, and which sizes share a code. One's own decides about numbers and instructions."""
AVX512 = Machine("avx512", 512, 32, 48 << 10, 1 << 20, 32 << 20, ("mxcsr", "pmaddwd"))
CARD = Machine("sm_80", 128, 32, instructions=("fma.ftz",), shares=("strided",))
"""A card: four lanes, and products of bfloat16 by instructions that take denormals as zeros.

Neighbours among its threads have neighbours in memory.
"""
TENSOR_CARD = replace(CARD, instructions=(*CARD.instructions, "mma"))
"""A card that multiplies 16-bit factors by tensor cores, whose sums have numerics of their own."""
NEON = Machine("neon", 128, 32, 64 << 10, 1 << 20, 8 << 20, ("fpcr",))
