"""Arguments that a capture needs as parts of their storages, where it had them by value.

What says so raises Apart, and the function is captured again: see aliasing.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon.tensor.state import Storage

__all__ = ["Apart", "Wholes"]


class Apart(Exception):
    """An argument that was passed by its value is needed as a part of its storage."""

    def __init__(self, places: frozenset[int]) -> None:
        super().__init__(places)
        self.places = places
        """The arguments that show such memory."""


class Wholes:
    """The part of a capture that knows which arguments are views, passed by their values."""

    def __init__(self) -> None:
        self.by_value: set[Storage] = set()
        """What stands for views without gradients: all that shows it is cut off by nature."""
        self.parts: dict[Storage, int] = {}
        """What stands for the value of a view, and which argument it is."""
        self.needs_whole: set[int] = set()
        """Arguments of which the function asks how they lie in their storage."""

    def need_whole(self, storage: Storage) -> None:
        """Have an argument passed as a part of its storage, since the function asks which it is."""
        if storage in self.parts:
            self.needs_whole.add(self.parts[storage])
            raise Apart(frozenset(self.needs_whole))
