"""Shapes as users see them."""

from __future__ import annotations

from math import prod
from typing import Any

__all__ = ["Size"]


class Size(tuple):
    """A shape: a tuple that can count elements.

    >>> Size((2, 3)).numel()
    6
    """

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements."""
        return prod(self)

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: tuple) -> Any:
        return Size(super().__add__(other))

    def __radd__(self, other: tuple) -> Any:
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Any:
        return Size(super().__mul__(count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"Size({list(self)})"
