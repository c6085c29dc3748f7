"""Numbers that a program reads when it runs, and what they share: who needs one itself pins it.

A SymInt (gnomon/ir/sizes.py) is taken for an int and a SymFloat (sym_float.py) for a float, but
neither is one of C's. A text is made of the number at hand, and the program serves that one alone.
"""

from __future__ import annotations

from typing import Any

from gnomon.ir.keyed import Keyed

__all__ = ["SymNumber", "Unsized"]


class Unsized(TypeError):
    """Something that no program for several sizes can do: it is compiled for its own alone."""


class SymNumber(Keyed):
    """A number that is known when a program runs."""

    __slots__ = ()
    kind: type[Any]
    """The class that it is taken for."""

    @property
    def __class__(self) -> type[Any]:
        return self.kind

    @__class__.setter
    def __class__(self, kind: type[Any]) -> None:
        raise TypeError(f"a symbolic {self.kind.__name__} keeps its class")

    def pinned(self) -> Any:
        """The number itself: the program then serves this one alone."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.pinned())

    def __format__(self, spec: str) -> str:
        return format(self.pinned(), spec)

    def __int__(self) -> int:
        return int(self.pinned())

    def __float__(self) -> float:
        return float(self.pinned())
