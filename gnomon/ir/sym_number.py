"""Symbolic numbers, and what symbolic integers and floats have in common.

A SymInt (gnomon/ir/sizes.py) behaves like an int and a SymFloat (sym_float.py) like a float, but
neither is a C number. Its text is that of the current number, and makes the program serve that one
alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from gnomon.ir.memo import Keyed

__all__ = ["Operator", "SymNumber", "Unsized"]


class Unsized(TypeError):
    """Raised for an operation that programs for several sizes do not support."""


Operator = Callable[[Any, Any], Any]


def at_hand(name: str) -> tuple[Operator, Operator]:
    """An operator on present values, for which numbers are pinned, and its reflected form."""
    compute: Operator = getattr(operator, f"__{name}__")
    return pinning(compute), pinning(lambda x, y: compute(y, x))


def pinning(compute: Operator) -> Operator:
    """A method that applies an operator to present values, for which numbers are pinned."""

    def method(self: SymNumber, other: Any) -> Any:
        symbolic = isinstance(other, SymNumber)
        if not (other.kind is self.kind if symbolic else isinstance(other, (int, float))):
            return NotImplemented
        return compute(self.pinned(), other.pinned() if symbolic else other)

    return method


class SymNumber(Keyed):
    """Base of symbolic numbers, whose values are known when a program runs."""

    __slots__ = ()
    kind: type[Any]
    """The Python class that it replaces."""

    __add__, __radd__ = at_hand("add")
    __sub__, __rsub__ = at_hand("sub")
    __mul__, __rmul__ = at_hand("mul")
    __floordiv__, __rfloordiv__ = at_hand("floordiv")
    __mod__, __rmod__ = at_hand("mod")
    __pow__, __rpow__ = at_hand("pow")
    __truediv__, __rtruediv__ = at_hand("truediv")
    __and__, __rand__ = at_hand("and")
    __or__, __ror__ = at_hand("or")
    __xor__, __rxor__ = at_hand("xor")
    __lshift__, __rlshift__ = at_hand("lshift")
    __rshift__, __rrshift__ = at_hand("rshift")

    @property
    def __class__(self) -> type[Any]:
        return self.kind

    @__class__.setter
    def __class__(self, kind: type[Any]) -> None:
        raise TypeError(f"a symbolic {self.kind.__name__} keeps its class")

    def pinned(self) -> Any:
        """The present value; a guard restricts the program to it."""
        raise NotImplementedError

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.pinned(), digits)

    def __str__(self) -> str:
        return str(self.pinned())

    def __format__(self, spec: str) -> str:
        return format(self.pinned(), spec)

    def __int__(self) -> int:
        return int(self.pinned())

    def __float__(self) -> float:
        return float(self.pinned())
