"""Floats that a program reads when it runs, by their bits: a number of the program like its sizes.

Nothing is computed with one; it stands where a constant would, in a kernel.
"""

from __future__ import annotations

from struct import pack, unpack
from typing import Any

import numpy as np

__all__ = ["FloatBits", "OF_FLOATS", "SymFloat", "real"]

OF_FLOATS = -1 << 63, 1 << 63
"""Bounds of bits."""


class FloatBits(int):
    """The bits of a float, as an integer: 0.0 and -0.0 differ."""

    @classmethod
    def of(cls, x: float) -> FloatBits:
        """The bits of a float."""
        return cls(*unpack("<q", pack("<d", x)))


class SymFloat:
    """A float that is known when a program runs; who needs it has a program of its own."""

    __slots__ = ("bits", "value")

    def __init__(self, bits: Any) -> None:
        self.bits, self.value = bits, real(bits.value)

    @property
    def __class__(self) -> type:
        return float

    @__class__.setter
    def __class__(self, kind: type) -> None:
        raise TypeError("a float keeps its class")

    def __repr__(self) -> str:
        return f"float of {self.bits!r}"

    def __str__(self) -> str:
        return str(float(self))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __hash__(self) -> int:
        return hash(("float", self.bits))

    def __eq__(self, other: object) -> bool:
        return type(other) is SymFloat and self.bits is other.bits

    def __float__(self) -> float:
        self.bits.sizes.pin(self.bits)
        return self.value

    def hex(self) -> SymFloat:
        """Itself, as a key."""
        return self

    def word(self, size: int) -> Any:
        """The bits of the float of so many bytes that is nearest."""
        return self.bits if size == 8 else self.bits.sizes.late(bits_of_single, (self.bits,))


def real(bits: Any) -> Any:
    """The float of some bits."""
    if type(bits) not in (int, FloatBits):
        return SymFloat(bits)
    return unpack("<d", pack("<q", bits))[0]


def bits_of_single(bits: int) -> int:
    """The bits of a float of four bytes, as a signed integer, of one of eight."""
    with np.errstate(over="ignore"):
        return int(np.float32(real(bits)).view(np.int32))
