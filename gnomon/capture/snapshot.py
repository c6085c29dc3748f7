"""Snapshot: values that a walk found, kept so that a call can check that all are still there.

The very same objects in the same places are looked for first, which is quick. Where others are
there, plain values are compared, and the walk (closure_state.py) is taken again for the rest.
"""

from __future__ import annotations

import operator
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any

from gnomon.capture.object_state import PLAIN, Version
from gnomon.ir.memo import memo, typed
from gnomon.tensor.tensor import Tensor

__all__ = [
    "Looks",
    "NumberedParts",
    "SlotAttributes",
    "contents",
    "entry_of",
    "held_by",
    "own_of",
    "same_parts",
]

MISSING = object()
CONTAINERS = (dict, list, tuple, set, frozenset, deque)


class Looks:
    """The guarded places and their values; a fast check that the same objects are there."""

    def __init__(self) -> None:
        self._cells: list[tuple[types.CellType, Any]] = []
        self._names: list[tuple[Any, str, Any]] = []
        self._lacking: dict[int, tuple[dict, set[str]]] = {}
        """Dictionaries, and names that are not in them."""
        self._parts: list[tuple[Any, tuple]] = []
        self._functions: list[tuple[Any, Any, Any, Any]] = []
        self._objects: list[tuple[Any, type, Any]] = []
        """Objects with their class and the dictionary of their attributes."""
        self._kinds: dict[type, Version] = {}
        self._tensors: list[tuple[Tensor, object, bool]] = []
        self._states: list[tuple[Callable[[], Hashable], Hashable]] = []
        """State that can only be read and compared."""
        self._certain = True
        """Whether the very same objects leave no doubt."""

    def hold(self) -> bool | None:
        """Whether all values are unchanged; None if objects were replaced by others."""
        for x, at, wanted in self._tensors:
            if x._storage is not at or x.requires_grad is not wanted:
                return False
        for read, known in self._states:
            if read() != known:
                return False
        return True if self._certain and self._same_objects() else self._compared()

    def put_back(self, is_new: Callable[[Any], bool]) -> None:
        """Restore variables, attributes and globals that `is_new` marks as changed."""
        for cell, before in self._cells:
            if is_new(held_by(cell)):
                cell.cell_contents = before
        for names, name, before in self._names:
            if isinstance(names, dict) and is_new(names.get(name)):
                names[name] = before
        for names, lacking in self._lacking.values():
            for name in [x for x in lacking if is_new(names.get(x))]:
                del names[name]

    def new_since(self, before: Looks) -> list[Any]:
        """Values under names that an earlier walk did not record."""
        known = {entry_of(*place) for *place, _ in before._names}
        return [x for *place, x in self._names if entry_of(*place) not in known]

    def _same_objects(self) -> bool:
        """Whether the very same objects are at all places; each replay checks it."""
        for version in self._kinds.values():
            if version._cell.value != version.known:
                return False
        try:
            for cell, x in self._cells:
                if cell.cell_contents is not x:
                    return False
        except ValueError:  # a cell was emptied
            return False
        for names, name, x in self._names:
            if names.get(name, MISSING) is not x:
                return False
        for names, lacking in self._lacking.values():
            if not names.keys().isdisjoint(lacking):
                return False
        for function, code, defaults, named in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__kwdefaults__ is not named:
                return False
        for x, kind, own in self._objects:
            if type(x) is not kind or (own is not None and x.__dict__ is not own):
                return False
        return not self._parts or all([same_parts(*known) for known in self._parts])

    def _compared(self) -> bool | None:
        """Compare as `hold` does, with plain values by value."""
        try:
            answers = [same(cell.cell_contents, x) for cell, x in self._cells]
        except ValueError:
            return None
        answers += [same(names.get(name, MISSING), x) for names, name, x in self._names]
        for value, parts in self._parts:
            found = parts_of(value)
            if len(found) != len(parts):
                return None
            answers += map(same, found, parts)
        answers += [
            (x.__code__ is code and x.__defaults__ is y and x.__kwdefaults__ is z) or None
            for x, code, y, z in self._functions
        ]
        answers += [not has_one(*known) or None for known in self._lacking.values()]
        answers += [
            (type(x) is kind and own_of(x) is own) or None for x, kind, own in self._objects
        ]
        answers += [version.holds() or None for version in self._kinds.values()]
        return False if False in answers else None if None in answers else self._certain or None


def held_by(cell: types.CellType, default: Any = None) -> Any:
    """The value of a closure's variable, or `default` if it has none."""
    try:
        return cell.cell_contents
    except ValueError:
        return default


def has_one(names: Any, some: set[str]) -> bool:
    """Whether a dictionary has one of these names."""
    return not names.keys().isdisjoint(some)


def own_of(value: Any) -> dict[str, Any] | None:
    """The dictionary of an object's own attributes, read without its class's overrides."""
    kept = kept_by(type(value).__mro__)
    return None if kept is None else kept.__get__(value)


ATTRIBUTES = (types.GetSetDescriptorType, types.MemberDescriptorType)


@memo
@cache
def kept_by(kinds: tuple[type, ...]) -> Any:
    """The built-in attribute access of objects with these base classes."""
    if threading.local in kinds:  # what it keeps in the other way is empty
        return property(operator.attrgetter("__dict__"))
    found = (vars(kind).get("__dict__") for kind in kinds)
    return next((x for x in found if type(x) in ATTRIBUTES), None)


def contents(value: Any) -> tuple:
    """The contents of a container by the built-in classes' methods; keys first in a dictionary."""
    if type(value) is dict:
        return (*value, *value.values())
    base = next((x for x in CONTAINERS if issubclass(type(value), x)), None)
    if base is dict:
        kind = OrderedDict if issubclass(type(value), OrderedDict) else dict  # its order is its own
        return (*kind.keys(value), *kind.values(value))
    if base is not None:
        return tuple(base.__iter__(value))
    return (*value, *value.values()) if type(value) is types.MappingProxyType else (*value,)


def parts_of(value: Any) -> tuple:
    """The items of a container, with one marker for all tensors."""
    return tuple([Tensor if issubclass(type(x), Tensor) else x for x in contents(value)])


def same(value: Any, before: Any) -> bool | None:
    """Whether a value is the same; None for another object, which may have equal content."""
    if value is before:
        return True
    alike = issubclass(type(value), PLAIN) and issubclass(type(before), PLAIN)
    return typed(value) == typed(before) if alike else None


def same_parts(value: Any, parts: tuple) -> bool:
    """Whether the same objects are inside a list, a dictionary or the like."""
    found = parts_of(value)
    return len(found) == len(parts) and all(map(operator.is_, found, parts))


class NumberedParts:
    """The items of a list by number, with a dictionary's interface."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, number: int, default: Any = None) -> Any:
        """A part, if the list is that long."""
        return self.value[number] if number < len(self.value) else default

    def __setitem__(self, number: int, part: Any) -> None:
        self.value[number] = part

    def __delitem__(self, number: int) -> None:
        del self.value[number]


class TupleParts:
    """The items of a tuple by number; storing one replaces the tuple at its place."""

    __slots__ = ("key", "names", "value")

    def __init__(self, names: Any, key: Any, value: tuple) -> None:
        self.names, self.key, self.value = names, key, value

    def _now(self) -> tuple | None:
        """The tuple at the place, if it has the same items as before; else None."""
        now = self.names.get(self.key)
        return now if type(now) is type(self.value) and len(now) == len(self.value) else None

    def get(self, number: int) -> Any:
        """The item of this number; None if there is no such tuple at the place now."""
        now = self.names.get(self.key)
        return now[number] if isinstance(now, tuple) and number < len(now) else None

    def __setitem__(self, number: int, part: Any) -> None:
        parts = list(self._now() or self.value)
        parts[number] = part
        if all(map(operator.is_, parts, self.value)):
            self.names[self.key] = self.value
        else:
            kind = type(self.value)
            self.names[self.key] = getattr(kind, "_make", partial(tuple.__new__, kind))(parts)

    def __delitem__(self, number: int) -> None:
        if self._now() is not None and isinstance(self.names, dict):
            del self.names[self.key]


class SlotAttributes:
    """The slots of an object as a dictionary."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, name: str, default: Any) -> Any:
        """The value of a name."""
        return getattr(self.value, name, default)


def entry_of(names: Any, key: Any) -> tuple:
    """A place in a container or in attributes, in a comparable form."""
    if isinstance(names, TupleParts):
        return (*entry_of(names.names, names.key), key)
    return id(getattr(names, "value", names)), key
