"""The part of a walk that follows code: functions, methods, partial calls, and names in files.

A function is seen by its code and by what its code names. Objects and containers are walked in
closure_state.py, where a walk begins.
"""

from __future__ import annotations

import functools
import os
import sys
import types
import weakref
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from gnomon.capture.code_names import (
    Below,
    CodeNames,
    codes_in,
    is_of_package,
    reads_by_name,
    walked_among,
    words_of,
)
from gnomon.capture.effects import acts, name_of
from gnomon.capture.object_state import (
    OPAQUE,
    is_written_in_python,
    never_changes,
    of_attributes,
    state_of,
)
from gnomon.capture.snapshot import MISSING, Looks, SlotAttributes, own_of, parts_of
from gnomon.forking import cached_property
from gnomon.ir.provenance import PACKAGE, is_ours
from gnomon.tensor.tensor import Tensor

__all__ = ["Callables"]

DESCRIPTIVE = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"})
"""Attributes that functions keep beside their dictionaries."""
DISPATCHING = codes_in(functools.singledispatch.__code__)
REMEMBERED = frozenset({"dispatch_cache", "cache_token"})
"""Variables of functions with an implementation for each class: what was looked up before."""
DEEPEST = 40
"""Objects inside of each other that are walked."""


class Callables(Looks):
    """A walk over functions, methods and their state that finds the values code may read."""

    def __init__(
        self,
        words: CodeNames,
        any_number: frozenset[tuple[int, Any]],
        held: frozenset[int] | None = frozenset(),
    ) -> None:
        super().__init__()
        self.held = held
        """Objects to which more than weak references lead; None for a walk that keeps nothing."""
        self.any_number = any_number
        """Entries whose numbers do not count, but for their class."""
        self.modules: list[Any] = []
        self.kept: list[tuple[Any, Any, Tensor]] = []
        """Tensors among attributes and in containers: only those that the function reads count."""
        self.words = self.met = words
        """Names that code reads: those that this walk follows, and those that it met beside."""
        self.codes: set[types.CodeType] = set()
        self.opaque: list[str] = []
        """The reasons why parts of the code cannot be followed."""
        self._of: dict[str | None, set[str]] = {}
        for before, name in words.pairs:
            self._of.setdefault(None if before in words.loose else before, set()).add(name)
        self._inside: set[int] = set()
        self._named: dict[str | None, frozenset[str]] = {}
        self._looked: set[tuple[int, Any]] = set()
        self._alive: list[Any] = []
        self._homes: dict[int, tuple[Any, Any]] = {}
        """Where tuples stand, by their ids: a part of theirs changes by another tuple there."""
        self._below: dict[type, Below] = {}
        """Names that classes have."""

    @cached_property
    def walked(self) -> frozenset[int]:
        """The ids of the objects on the walk."""
        return frozenset(map(id, self._alive))

    @cached_property
    def anywhere(self) -> frozenset[str]:
        """The attributes that code reads of objects without a known name."""
        return frozenset().union(*self._of.values())

    def snapshot(self, value: Any, depth: int, seen: set, name: str | None = None) -> Hashable:
        """A comparable form of a value, which code reads by `name`."""
        raise NotImplementedError

    def _object(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The comparable form of an object by its attributes."""
        raise NotImplementedError

    def named(self, owner: str | None) -> frozenset[str]:
        """The attributes that code reads of the object that it calls `owner`."""
        if owner not in self._named:
            known = self._of.get(None, set()) | self._of.get(owner, set())
            self._named[owner] = frozenset(known)
        return self._named[owner]

    def look(self, names: Any, name: str, depth: int, seen: set) -> list[Hashable]:
        """Record an entry of a dictionary as read, and return its comparable form."""
        found = names.get(name, MISSING)
        if self.any_number and (id(names), name) in self.any_number:
            return [name, type(found).__name__]
        if (key := (id(names), name)) not in self._looked:
            self._looked.add(key)
            self._alive.append(names)
            self._names.append((names, name, found))
            self._stands(found, names, name)
        return [] if found is MISSING else [name, self.snapshot(found, depth - 1, seen, name)]

    def _stands(self, value: Any, names: Any, key: Any) -> None:
        """Record the place of a tuple, which code may replace by another tuple."""
        if issubclass(type(value), tuple) and hasattr(names, "__setitem__"):
            self._homes[id(value)] = names, key

    def _lack(self, names: dict, lacking: frozenset[str] | set[str]) -> None:
        """Record that a dictionary does not have these names."""
        lacking = lacking - names.keys()
        if lacking:
            self._alive.append(names)
            self._lacking.setdefault(id(names), (names, set()))[1].update(lacking)

    def _state(self, read: Callable[[], Hashable] | Any, name: str | None, kind: type) -> Hashable:
        """Record a reader of mutable state for guards, and return its present value."""
        if read is OPAQUE:
            called = f"`{name}`, " if name else ""
            self.opaque.append(f"{called}an object of {kind.__module__}.{kind.__qualname__}")
        if read is OPAQUE or read is None:
            return None
        found = read()
        self._states.append((read, found))
        return found

    def _kept_by(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of an object by its state; if Python code has other state, by all attributes."""
        kind, state, own = type(value), state_of(value), own_of(value)
        if state is not OPAQUE or own is None or not is_written_in_python(kind):
            yield self._state(state, name, kind)
            return
        self._parts.append((own.keys(), parts_of(own.keys())))
        for each in sorted(own, key=str):
            yield from self.look(own, each, depth, seen)

    def _attributes_alone(
        self, value: Any, own: dict, depth: int, seen: set, name: str | None
    ) -> Iterator[Hashable]:
        """The form of an object by all its attributes; below it by those that code names."""
        yield self._state(of_attributes(value), name, type(value)) if own else None
        for each in sorted(self.named(name) & own.keys()):
            yield from self.look(own, each, depth, seen)

    def _partial(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a functools.partial by its function and arguments."""
        if isinstance(value.func, types.BuiltinFunctionType) and acts(value.func):
            self.opaque.append(f"`{name_of(value.func)}`, given to another function")
        for part in ("func", "args", "keywords"):
            yield from self.look(SlotAttributes(value), part, depth, seen)
        yield from self._object(value, depth, seen, name)

    def _method(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a bound method by its function and object."""
        yield self.snapshot(value.__func__, depth - 1, seen, name)
        code = getattr(value.__func__, "__code__", None)
        is_pythons = code is not None and not code.co_filename.startswith(PACKAGE)
        if is_pythons or not is_passed_by(value.__func__, depth):
            yield self.snapshot(value.__self__, depth - 1, seen, "self")

    def _bound(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a bound built-in function by its object.

        Code that receives it may call it unseen by the profiling hook.
        """
        if (name is None or name in self.words.given) and acts(value):
            self.opaque.append(f"`{name_of(value)}`, given to another function")
        if reads_by_name(value, name):
            self.met = self.met._replace(every=True)
        if not isinstance(value.__self__, types.ModuleType):
            yield self.snapshot(value.__self__, depth - 1, seen)

    def _reference(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a weak reference by its object, walked anew by each check."""
        found = weakref.ref.__call__(value)
        if found is None or self.held is None or id(found) in self.held:
            yield self.snapshot(found, depth - 1, seen, name)
        else:
            given = type(self), self.words, value, name, depth
            walk, look = walk_weak_reference(*given)
            self.met, self.codes = self.met.union(walk.met), self.codes | walk.codes
            self._alive += filter(is_leaf, walk._alive)  # or another could get its number
            read = (lambda: walk_weak_reference(*given)[1]) if look else OPAQUE
            yield self._state(read, name, type(value))
        if walked_among(type(value)):
            yield from self._object(value, depth, seen, name)

    def _getter(self, value: Any, *_: Any) -> Iterator[Hashable]:
        """The form of an attrgetter or the like by the names that it reads."""
        words = [x for name in value.__reduce__()[1] for x in str(name).split(".")]
        pairs = frozenset((None, name) for name in words)
        self.met = self.met.union(CodeNames(pairs, doubtful=frozenset(words)))
        yield from words

    def _function(self, function: Any, depth: int, seen: set, name: str | None) -> Iterator:
        """The form of a function by its code and the values that its code names."""
        code, words = function.__code__, words_of(function.__code__)
        passed = is_passed_by(function, depth)
        self.codes |= codes_in(code)
        yield id(code)
        cells = function.__closure__ or ()
        for variable, cell in zip(code.co_freevars, cells, strict=True):
            if variable in REMEMBERED and code in DISPATCHING:
                continue  # its table tells all
            yield self._cell(variable, cell, depth, seen)
        own = function.__dict__.keys()
        for part in sorted(own if self.words.every else own & {*self.named(name), "__wrapped__"}):
            yield from self.look(function.__dict__, part, depth, seen)
        if passed:
            if not code.co_filename.startswith(PACKAGE):
                self.met = self.met.union(words._replace(every=False, doubtful=frozenset()))
                if "environ" in words.names or ("os", "environ") in words.pairs:
                    yield from self.look(vars(os), "environ", depth, seen)
            return
        self.met = self.met.union(words)
        self._lack(function.__dict__, self.named(name) & self.words.doubtful)
        if self.words.every:
            self._parts.append((own, parts_of(own)))
        for part in sorted(self.named(name) & DESCRIPTIVE):
            yield from self.look(SlotAttributes(function), part, depth, seen)
        defaults, named = function.__defaults__, function.__kwdefaults__
        self._functions.append((function, code, defaults, named))
        yield from self._globals(function, words, depth, seen)
        yield tuple([self.snapshot(value, depth - 1, seen) for value in defaults or ()])
        yield None if named is None else self.snapshot(named, depth - 1, seen)

    def _cell(self, name: str, cell: Any, depth: int, seen: set) -> Hashable:
        """The form of a closure's variable by its value."""
        try:
            found = cell.cell_contents
        except ValueError:
            self._certain = False
            return "empty"
        if (id(cell), None) in self.any_number:
            return type(found).__name__
        if (key := (id(cell), None)) not in self._looked:
            self._looked.add(key)
            self._cells.append((cell, found))
        return self.snapshot(found, depth - 1, seen, name)

    def _globals(
        self, function: Any, words: CodeNames, depth: int, seen: set
    ) -> Iterator[Hashable]:
        """The forms of globals that code names, builtins, and modules imported at run time."""
        names, builtins = function.__globals__, function.__builtins__
        for name in sorted(words.names & names.keys()):
            yield from self.look(names, name, depth, seen)
        if "id" in words.given and "id" not in names and not is_ours(function.__code__):
            self.opaque.append("`id`, given to another function")
        self._lack(names, words.names)
        for name in sorted((words.names - names.keys()) & builtins.keys()):
            yield from self.look(builtins, name, depth, seen)
        if "globals" in words.names:
            self._parts.append((names, parts_of(names)))
        package = names.get("__package__") or ""
        for name in sorted(words.files):
            for file in {name, name.split(".")[0], f"{package}.{name}"}:
                yield from self.look(sys.modules, file, depth, seen)


def walk_weak_reference(
    kind: type[Callables], words: CodeNames, reference: Any, name: str | None, depth: int
) -> tuple[Callables, Hashable]:
    """Walk from a weak reference to its object; returns the walk and the form, () if partial."""
    walk = kind(words, frozenset(), None)
    found = walk.snapshot(weakref.ref.__call__(reference), depth - 1, set(), name)
    versions = tuple([(id(each), version.known) for each, version in walk._kinds.items()])
    unsaid = walk.opaque or walk.modules or walk.kept or walk._tensors
    return walk, () if unsaid or not all(known for _, known in versions) else (found, versions)


def is_leaf(value: Any) -> bool:
    """Whether a value is compared by identity alone, and refers to no other."""
    is_known = never_changes(value) and not is_of_package(type(value))
    return is_known and own_of(value) is None and not isinstance(value, INSIDE)


INSIDE = list, tuple, dict, set, frozenset, types.MethodType, types.MappingProxyType
"""Classes of Python's whose objects are looked into."""


def is_passed_by(function: Any, depth: int) -> bool:
    """Whether a walk skips a function: a built-in one, or Gnomon's own, called from user code."""
    return depth < DEEPEST - 1 and (
        not isinstance(function, types.FunctionType) or is_ours(function.__code__)
    )
