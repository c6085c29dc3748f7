"""Number places: attributes, variables and entries whose numbers are inputs of a program.

A number that a function reads there is a constant of its first program. Where a later call finds
another one, the function is captured with a stand-in for it (varying.py), every replay reads what
stands there, and what the function puts there is put there by every replay.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gnomon.capture.snapshot import MISSING, NumberedParts, contents, entry_of, held_by
from gnomon.dtypes import float64, int64
from gnomon.settings import Block
from gnomon.tensor import module_versions
from gnomon.tensor.traced_numbers import SMALL, kind_of_number, traced_number, varies

if TYPE_CHECKING:
    from gnomon.capture.guards import Guard
    from gnomon.capture.tracing import Capture

__all__ = ["CellContents", "NumberPlace", "WithoutNumbers", "place_in", "replaced_numbers"]


class CellContents:
    """The variable of a closure, as a dictionary of one entry."""

    __slots__ = ("value",)

    def __init__(self, cell: types.CellType) -> None:
        self.value = cell

    def get(self, _: None, default: Any = None) -> Any:
        """The object in the variable."""
        return held_by(self.value, default)

    def __setitem__(self, _: None, found: Any) -> None:
        self.value.cell_contents = found


class NumberPlace:
    """A place of a number: a container and a key; a call returns the number."""

    __slots__ = ("before", "is_gone", "is_of_module", "key", "names")

    def __init__(self, names: Any, key: Any, is_of_module: bool = False) -> None:
        self.names, self.key, self.is_of_module = names, key, is_of_module
        self.before: Any = None
        """The number, while a stand-in is there."""
        self.is_gone = False
        """Whether a function that read the number took it away."""

    def __call__(self) -> Any:
        """The number at the place, or the one that a placeholder there replaces."""
        return self.names.get(self.key, MISSING) if self.before is None else self.before

    def holds(self, kind: type) -> bool:
        """Whether the object at the place is a number of this class."""
        return not self.is_gone and kind_of_number(self()) is kind

    @property
    def entry(self) -> tuple[int, Any]:
        """The place in a comparable form."""
        return entry_of(self.names, self.key)


class WithoutNumbers:
    """A container in comparable form whose entries at some keys may be any number of a class."""

    __slots__ = ("keys", "value")

    def __init__(self, value: Any, keys: set[Any]) -> None:
        self.value, self.keys = value, keys

    def __iter__(self) -> Iterator[Any]:
        parts = contents(self.value)
        keyed = issubclass(type(self.value), dict)
        first = len(parts) // 2 if keyed else 0
        for k, part in enumerate(parts):
            key = parts[k - first] if keyed else k
            yield type(part).__name__ if k >= first and key in self.keys else part


def place_in(value: Any, number: int) -> NumberPlace | None:
    """The place of an item of a dictionary or list; None if it cannot be replaced."""
    value = value.value if isinstance(value, WithoutNumbers) else value
    parts = contents(value)
    if issubclass(type(value), dict) and number >= len(parts) // 2:
        return NumberPlace(value, parts[number - len(parts) // 2])
    return NumberPlace(NumberedParts(value), number) if issubclass(type(value), list) else None


class replaced_numbers(Block):
    """A context in which placeholders replace numbers at places; at its end these are restored."""

    def __init__(self, capture: Capture, guard: Guard) -> None:
        self.capture, self.guard = capture, guard
        self.places = [place for place in guard.numbers if place.before is None]

    def __enter__(self) -> None:
        try:
            for place in self.places:
                place.before = place()
                place.names[place.key] = stand_in(self.capture, place)
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """Restore the numbers, and make replays store those that the function changed."""
        guard, stood = self.guard, [place for place in self.places if place.before is not None]
        put = [x for place in stood if (x := ending(self.capture, place)) is not None]
        if put:
            self.capture.afterwards.append(([], lambda: write(put, guard)))


def stand_in(capture: Capture, place: NumberPlace) -> Any:
    """The traced number that replaces the Python number at a place during a capture."""
    number = place()
    tensor = capture.number_input(place, float64 if type(number) is float else int64)
    capture.standing[place.entry] = tensor
    return traced_number(kind_of_number(number), tensor, (tensor,), SMALL, place)


Put = tuple[NumberPlace, Callable[[], Any]]
"""A place, and what every replay puts there."""


def ending(capture: Capture, place: NumberPlace) -> Put | None:
    """Restore the number at a place; returns the store for replays if the function changed it."""
    now, before = place.names.get(place.key, MISSING), place.before
    if varies(now):
        if now.settled is None and now.formula is None:
            capture.placed.append((Numbers(place), None, now.tensor))
        formula = None if now.formula is place else now.formula
        place.names[place.key], place.before = before, None
        return None if formula is None else (place, formula)
    if kind_of_number(now) is not kind_of_number(before):
        place.is_gone = True  # the run that is to come reads what was there
        return None
    # the function put it there: a replay does so too, also where this call found it there
    place.names[place.key], place.before = before, None
    return place, lambda: now


class Numbers:
    """A place where replays store a program's result as a number."""

    __slots__ = ("place",)

    def __init__(self, place: NumberPlace) -> None:
        self.place = place

    def __setitem__(self, _: None, tensor: Any) -> None:
        self.place.names[self.place.key] = tensor.item()


def write(put: Sequence[Put], guard: Guard) -> None:
    """Store numbers at their places, after all are computed."""
    values = [formula() for _, formula in put]
    for (place, _), value in zip(put, values, strict=True):
        place.names[place.key] = value
    if any(place.is_of_module for place, _ in put):
        guard.pass_over(module_versions.note())
