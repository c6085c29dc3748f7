"""Floats that a program reads when it runs, by their bits: a number of the program like its sizes.

Nothing is computed with one; it stands where a constant would, in a kernel.
"""

from __future__ import annotations

from struct import pack, unpack
from typing import Any

import numpy as np

from gnomon.ir.sym_number import SymNumber, Unsized

__all__ = ["FloatBits", "OF_FLOATS", "SymFloat", "as_float", "ratio", "real"]

OF_FLOATS = -1 << 63, 1 << 63
"""Bounds of bits."""


class FloatBits(int):
    """The bits of a float, as an integer: 0.0 and -0.0 differ."""

    @classmethod
    def of(cls, x: float) -> FloatBits:
        """The bits of a float."""
        return cls(*unpack("<q", pack("<d", x)))


class SymFloat(SymNumber):
    """A float that is known when a program runs; who needs it has a program of its own."""

    __slots__ = ("bits", "key", "value")
    kind = float

    def __init__(self, bits: Any) -> None:
        self.bits, self.value = bits, real(bits.value)
        self.key = ("float", *bits.key)

    def __repr__(self) -> str:
        return f"float of {self.bits!r}"

    def __hash__(self) -> int:
        return hash(("float", self.bits))

    def __eq__(self, other: object) -> bool:
        return type(other) is SymFloat and self.bits is other.bits

    def __bool__(self) -> bool:
        return self.pinned() != 0

    def _refuse(self, *_: object) -> Any:
        raise Unsized(f"it computes with {self!r}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __pow__ = __rpow__ = __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def pinned(self) -> float:
        """The float itself: the program then serves this one alone."""
        self.bits.pinned()
        return self.value

    def hex(self) -> Any:
        """Its key, as a float's text is."""
        return self.key

    def word(self, size: int) -> Any:
        """The bits of the float of so many bytes that is nearest."""
        return self.bits if size == 8 else self.bits.sizes.late(bits_of_single, (self.bits,))


def real(bits: Any) -> Any:
    """The float of some bits."""
    if type(bits) not in (int, FloatBits):
        return SymFloat(bits)
    return unpack("<d", pack("<q", bits))[0]


def as_float(x: Any, bits: int) -> SymFloat:
    """A size as a float of so many bits holds it."""
    return SymFloat(x.late(bits_in_single if bits == 32 else bits_of_double))


def ratio(a: Any, b: Any, bits: int = 64) -> Any:
    """a / b, of integers or of sizes; of these as a float of so many bits holds it."""
    found = next((x for x in (a, b) if hasattr(x, "sizes")), None)
    of = bits_of_ratio if bits == 64 else bits_of_ratio_in_single
    return a / b if found is None else SymFloat(found.sizes.late(of, (a, b)))


def bits_of_ratio(a: int, b: int) -> int:
    """The bits of a / b as a float of eight bytes."""
    return int(FloatBits.of(a / b))


def bits_of_ratio_in_single(a: int, b: int) -> int:
    """The same of the nearest float of four."""
    return int(FloatBits.of(np.float32(a / b).item()))


def bits_of_double(n: int) -> int:
    """The bits of an integer as a float of eight bytes."""
    return int(FloatBits.of(float(n)))


def bits_in_single(n: int) -> int:
    """The same of the nearest float of four."""
    return int(FloatBits.of(np.float32(n).item()))


def bits_of_single(bits: int) -> int:
    """The bits of a float of four bytes, as a signed integer, of one of eight."""
    with np.errstate(over="ignore"):
        return int(np.float32(real(bits)).view(np.int32))
