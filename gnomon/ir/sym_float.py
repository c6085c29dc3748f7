"""Symbolic floats, represented by their bits, which are symbolic integers.

It stands where a constant would, and no kernel computes it. It is computed from sizes, and from
other such floats, as Python computes it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from operator import abs  # a user's program may replace the builtin
from struct import pack, unpack
from typing import Any, NamedTuple, cast

import numpy as np

from gnomon.ir.sym_number import SymNumber, Unsized

__all__ = [
    "FloatBits",
    "OF_FLOATS",
    "OfBits",
    "SymFloat",
    "as_float",
    "computed",
    "from_the_right",
    "gives_float",
    "ratio",
    "real",
]

Compute = Callable[..., Any]

OF_FLOATS = -1 << 63, 1 << 63
"""The bounds of the bits of a float64, as a signed integer."""


class FloatBits(int):
    """The bits of a float64 as an integer, in which 0.0 and -0.0 differ."""

    @classmethod
    def of(cls, x: float) -> FloatBits:
        """The bits of a float."""
        return cls(*unpack("<q", pack("<d", x)))


class SymFloat(SymNumber):
    """A symbolic float, whose value is known when a program runs; arithmetic refuses it."""

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

    @property
    def sizes(self) -> Any:
        """The environment of the symbolic sizes from which it is computed."""
        return self.bits.sizes

    def pinned(self) -> float:
        """The present value; a guard restricts the program to it."""
        self.bits.pinned()
        return self.value

    def hex(self) -> Any:
        """The symbolic float's key, in place of a float's hexadecimal text."""
        return self.key

    def word(self, size: int) -> Any:
        """The bits of the nearest float of `size` bytes."""
        return self.bits if size == 8 else self.bits.sizes.late(bits_of_single, (self.bits,))


def real(bits: Any) -> Any:
    """The float of these bits; symbolic for symbolic bits."""
    if type(bits) not in (int, FloatBits):
        return SymFloat(bits)
    return unpack("<d", pack("<q", bits))[0]


def as_float(x: Any, bits: int) -> SymFloat:
    """A symbolic size or float, rounded to a float of `bits` bits."""
    if isinstance(x, SymFloat):
        return x if bits == 64 else SymFloat(x.bits.late(bits_as_single))
    return SymFloat(x.late(bits_in_single if bits == 32 else bits_of_double))


def ratio(a: Any, b: Any, bits: int = 64) -> Any:
    """a / b; for symbolic sizes a symbolic float of `bits` bits."""
    found = next((x for x in (a, b) if hasattr(x, "sizes")), None)
    of = bits_of_ratio if bits == 64 else bits_of_ratio_in_single
    return a / b if found is None else SymFloat(found.sizes.late(of, (a, b)))


def bits_of_ratio(a: int, b: int) -> int:
    """The bits of a / b as a float64."""
    return int(FloatBits.of(a / b))


def bits_of_ratio_in_single(a: int, b: int) -> int:
    """The bits of a / b, rounded to float32, as a float64."""
    return int(FloatBits.of(np.float32(a / b).item()))


def bits_of_double(n: int) -> int:
    """The bits of an integer as a float64."""
    return int(FloatBits.of(float(n)))


def bits_in_single(n: float) -> int:
    """The bits of a number, rounded to float32, as a float64."""
    return int(FloatBits.of(np.float32(n).item()))


def bits_as_single(bits: int) -> int:
    """The bits of a float64 rounded to float32, again as a float64."""
    return bits_in_single(real(bits))


def bits_of_single(bits: int) -> int:
    """The bits of a float64 rounded to float32, both bits as signed integers."""
    with np.errstate(over="ignore"):
        return int(np.float32(real(bits)).view(np.int32))


def exchanged(compute: Compute) -> Compute:
    """An operator with its operands exchanged."""

    def from_right(x: Any, y: Any) -> Any:
        return compute(y, x)

    return from_right


ADD: Compute = operator.add
SUBTRACT: Compute = operator.sub
MULTIPLY: Compute = operator.mul
DIVIDE, RAISE = (cast(Compute, vars(operator)[name]) for name in ("truediv", "pow"))
FLOATS = (ADD, SUBTRACT, MULTIPLY)
EXCHANGED: dict[Compute, Compute] = {f: exchanged(f) for f in (*FLOATS, DIVIDE)}
MOST_POWER = 4
"""The largest power that is computed symbolically."""


def from_the_right(compute: Compute) -> Compute:
    """The reflected operator (`__rsub__`, ...); operators on floats have one fixed object each."""
    return EXCHANGED.get(compute) or exchanged(compute)


def gives_float(compute: Compute, *numbers: Any) -> bool:
    """Whether an operator on these numbers always gives a float, without errors."""
    if len(numbers) != 2:
        return False
    if compute in (DIVIDE, EXCHANGED[DIVIDE]):
        divisor = numbers[compute is DIVIDE]
        return not isinstance(divisor, SymFloat) and divisor != 0
    if compute is RAISE:
        return is_root(*numbers)
    has_float = any(isinstance(x, float) for x in numbers)
    return has_float and (compute in FLOATS or compute in [EXCHANGED[x] for x in FLOATS])


def is_root(base: Any, power: Any) -> bool:
    """Whether a power of a symbolic size is a float: a small power of a positive size."""
    if isinstance(power, SymFloat) or hasattr(power, "sizes") or abs(power) > MOST_POWER:
        return False
    is_positive = hasattr(base, "bounds") and base.bounds[0] > 0
    return is_positive and (isinstance(power, float) or power < 0)


def computed(compute: Compute, *numbers: Any) -> SymFloat:
    """The symbolic float that an operator gives of these numbers."""
    kinds = tuple([isinstance(x, float) for x in numbers])
    parts = [bits_of(x) if kind else x for x, kind in zip(numbers, kinds, strict=True)]
    env = next(x.sizes for x in numbers if hasattr(x, "sizes"))
    return SymFloat(env.late(OfBits(compute, kinds), parts))


def bits_of(x: Any) -> Any:
    """The bits of a float, symbolic for a symbolic float."""
    return x.bits if isinstance(x, SymFloat) else FloatBits.of(x)


class OfBits(NamedTuple):
    """An operator on bits: its result, and the operands that `kinds` marks, are bits of floats."""

    compute: Compute
    kinds: tuple[bool, ...]

    def __call__(self, *numbers: int) -> int:
        """The bits of the result."""
        pairs = zip(numbers, self.kinds, strict=True)
        given = [real(n) if is_float else n for n, is_float in pairs]
        return int(FloatBits.of(self.compute(*given)))
