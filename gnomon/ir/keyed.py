"""Values that other things stand for in keys, since keys outlive what they belong to."""

from __future__ import annotations

from typing import Any

__all__ = ["Keyed"]


class Keyed:
    """A value whose key holds nothing of a program's."""

    __slots__ = ()
    key: tuple[Any, ...]
    """What stands for it; equal values have equal keys, and no others."""
