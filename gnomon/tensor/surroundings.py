"""What a captured function may read besides its arguments, found by walking what its code names.

Code says which attributes it reads, and of what: `self.options.scale` reads `scale` of what is
called `options`. All code that can be reached is read first, since an object may be handed from one
function to another. What was found is compared in guards.py.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
import types
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from gnomon.ir.node import typed
from gnomon.ir.provenance import is_ours
from gnomon.tensor.guards import LONGEST, PLAIN
from gnomon.tensor.tensor import Tensor
from gnomon.tensor.words import KNOWN, has_attributes, users_among, words_of

__all__ = ["MISSING", "Places", "of_function", "random_state", "same_parts"]

CONTAINERS = (list, tuple, dict, set, frozenset, deque)
DEEPEST = 8
LARGEST = 1 << 16
"""Bytes of a numpy array whose numbers are compared."""
ROUNDS = 8
"""So often the walk begins again with the names that it met."""
MISSING = object()
UNNAMED = (
    *("__call__", "__iter__", "__next__", "__len__", "__getitem__", "__contains__", "__bool__"),
    *("__getattr__", "__enter__", "__exit__", "__float__", "__int__", "__index__"),
)
"""Methods that code runs without naming them."""


class Places:
    """Where a walk found values: while the same objects are there, nothing has changed."""

    def __init__(self, pairs: set[tuple[str | None, str]], loose: set[str]) -> None:
        self.modules: list[Any] = []
        self.kept: list[tuple[Any, Any, Tensor]] = []
        """Tensors among attributes and in containers: only those that the function reads count."""
        self.met, self.loose = set(pairs), set(loose)
        """Attributes that code names, and names of properties: what they give has any name."""
        self._of: dict[str | None, set[str]] = {}
        for before, name in pairs:
            self._of.setdefault(None if before in loose else before, set()).add(name)
        self._inside: set[int] = set()
        self._named: dict[str | None, list[str]] = {}
        self._cells: list[tuple[types.CellType, Any]] = []
        self._names: list[tuple[Any, str, Any]] = []
        self._parts: list[tuple[Any, tuple | None]] = []
        self._functions: list[tuple[Any, Any, Any]] = []
        self._tensors: list[tuple[Tensor, object, bool]] = []
        self._states: list[tuple[Callable[[], Hashable], Hashable]] = []
        """Numbers of small arrays, and where generators of random numbers stand."""
        self._looked: set[tuple[int, Any]] = set()
        self._alive: list[Any] = []
        self._certain = True

    def hold(self) -> bool | None:
        """Whether all is as it was; None where other objects are there, which may be equal."""
        for x, at, wanted in self._tensors:
            if x._storage is not at or x.requires_grad is not wanted:
                return False
        for read, known in self._states:
            if read() != known:
                return False
        return True if self._certain and self._same_objects() else self._compared()

    def _same_objects(self) -> bool:
        """Whether the very same objects are there: a look that each replay takes."""
        try:
            for cell, x in self._cells:
                if cell.cell_contents is not x:
                    return False
        except ValueError:  # a cell was emptied
            return False
        for names, name, x in self._names:
            if names.get(name, MISSING) is not x:
                return False
        for function, code, defaults in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        return not self._parts or all([same_parts(*known) for known in self._parts])

    def _compared(self) -> bool | None:
        """The same, with plain values by what they are."""
        try:
            answers = [same(cell.cell_contents, x) for cell, x in self._cells]
        except ValueError:
            return None
        answers += [same(names.get(name, MISSING), x) for names, name, x in self._names]
        for value, parts in self._parts:
            found = parts_of(value)
            if found is None or parts is None or len(found) != len(parts):
                return None
            answers += map(same, found, parts)
        functions = self._functions
        answers += [
            (x.__code__ is code and x.__defaults__ is y) or None for x, code, y in functions
        ]
        return False if False in answers else None if None in answers else self._certain or None

    def snapshot(self, value: Any, depth: int, seen: set, name: str | None = None) -> Hashable:
        """A value as something to compare: plain values as they are, others by what is inside.

        `name` is what code calls it.
        """
        if isinstance(value, PLAIN):
            return typed(value)
        if isinstance(value, Tensor):
            if id(value) not in seen:
                seen.add(id(value))
                self._tensors.append((value, value._storage, value.requires_grad))
            return ("tensor", id(value), id(value._storage), value.requires_grad)
        key = (id(value), name)
        if key in seen or depth <= 0:
            return id(value)
        seen.add(key)
        self._alive.append(value)  # or another object could get its number
        for kinds, walk in WALKS:
            if isinstance(value, kinds):
                lasts = not isinstance(value, types.MethodType)
                return (lasts and id(value), *walk(self, value, depth, seen, name))
        if hasattr(type(value), "register_forward_hook"):
            return (id(value), *self._module(value, depth, seen, name))
        if (wrapped := getattr(value, "__dict__", {}).get("__wrapped__")) is not None:
            return self.snapshot(wrapped, depth, seen, name)
        if has_attributes(type(value)):
            return (id(value), *self._object(value, depth, seen, name))
        return (id(value), self._state(state_of(value)))

    def _keep(self, names: Any, key: Any, tensor: Tensor, owner: Any) -> None:
        """Note once that a tensor stands somewhere."""
        if (id(owner), key) not in self._looked:
            self._looked.add((id(owner), key))
            self._alive.append(owner)
            self.kept.append((names, key, tensor))

    def named(self, owner: str | None) -> list[str]:
        """The attributes that code reads of what it calls by that name."""
        if owner not in self._named:
            known = self._of.get(None, set()) | self._of.get(owner, set())
            self._named[owner] = sorted(known)
        return self._named[owner]

    def look(self, names: Any, name: str, depth: int, seen: set) -> list[Hashable]:
        """An entry of a dictionary or the like, as code reads it."""
        found = names.get(name, MISSING)
        if (key := (id(names), name)) not in self._looked:
            self._looked.add(key)
            self._alive.append(names)
            self._names.append((names, name, found))
        return [] if found is MISSING else [name, self.snapshot(found, depth - 1, seen, name)]

    def _container(self, value: Any, depth: int, seen: set, _: str | None) -> Iterator[Hashable]:
        """A list, a dictionary or the like by what is inside, if that is little."""
        self._parts.append((value, parts_of(value)))
        if len(value) > LONGEST:
            return
        keyed = isinstance(value, dict)
        entries = value.items() if keyed else enumerate(value)
        for key, part in entries:
            if keyed:
                yield typed(key) if isinstance(key, PLAIN) else id(key)
            if isinstance(part, Tensor):
                yield "tensor"
                self._keep(value if keyed else Numbered(value), key, part, value)
            else:
                yield self.snapshot(part, depth - 1, seen)

    def _array(self, value: np.ndarray, *_: Any) -> Iterator[Hashable]:
        """A small array by its numbers."""
        yield self._state(value.tobytes if value.nbytes <= LARGEST else None)

    def _state(self, read: Callable[[], Hashable] | None) -> Hashable:
        """What a state of Python's kind reads as now."""
        found = None if read is None else read()
        if read is not None:
            self._states.append((read, found))
        return found

    def _object(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """A user's object by the attributes that code names, and by what its methods name."""
        for each in self.named(name):
            yield from self._attribute(value, each, depth, seen)
        for each in UNNAMED:
            yield from self._methods(value, each, depth, seen)

    def _attribute(self, value: Any, name: str, depth: int, seen: set) -> Iterator[Hashable]:
        """An attribute of an object, wherever it is kept; what a module tells of itself aside."""
        kept = getattr(value, "__dict__", {})
        found = kept.get(name, MISSING)
        is_module = hasattr(type(value), "register_forward_hook")
        if isinstance(found, Tensor):
            self._keep(kept, name, found, kept)
        elif found is not MISSING and not (is_module and isinstance(found, PLAIN)):
            yield from self.look(kept, name, depth, seen)
        elif found is MISSING:
            yield from self._methods(value, name, depth, seen)

    def _methods(self, value: Any, name: str, depth: int, seen: set) -> Iterator[Hashable]:
        """What classes have under a name: code that runs on the object, or a value of all."""
        for kind in users_among(type(value)):
            held = vars(kind).get(name, MISSING)
            if held is MISSING:
                continue
            inner = getattr(held, "fget", None) or getattr(held, "func", None)
            if inner is not None:
                self.loose.add(name)
            method = inspect.unwrap(inner or getattr(held, "__func__", held))
            if isinstance(method, types.FunctionType):
                yield self.snapshot(types.MethodType(method, value), depth, seen, name)
            elif isinstance(held, types.MemberDescriptorType):
                yield from self.look(Slots(value), name, depth, seen)
            else:
                yield from self.look(vars(kind), name, depth, seen)

    def _module(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """A module: what guards.py does not compare of it, and what its forward names."""
        if id(value) not in self._inside:
            self.modules.append(value)
            self._inside |= {id(inner) for inner in value.modules()}
        for each in (*self.named(name), "forward"):
            if users_among(type(value)) or each in value.__dict__:
                yield from self._attribute(value, each, depth, seen)
        for hook, _ in (*value._forward_hooks.values(), *value._forward_pre_hooks.values()):
            yield self.snapshot(hook, depth - 1, seen)
        for each, inner in value._modules.items():
            yield self.snapshot(inner, depth, seen, each)

    def _class(self, value: type, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """A user's class by the attributes that code names; code may make objects of it."""
        for kind in users_among(value):
            for each in (*self.named(name), *UNNAMED, "__init__", "forward", "backward"):
                if each in vars(kind):
                    held = vars(kind)[each]
                    held = inspect.unwrap(getattr(held, "__func__", getattr(held, "fget", held)))
                    is_code = isinstance(held, types.FunctionType)
                    yield from () if is_code else self.look(vars(kind), each, depth, seen)
                    yield self.snapshot(held, depth - 1, seen, each) if is_code else None

    def _package(
        self, value: types.ModuleType, depth: int, seen: set, name: str | None
    ) -> Iterator[Hashable]:
        """A user's file by the names that code reads of it."""
        if value.__name__.split(".")[0] not in KNOWN:
            for each in self.named(name):
                yield from self.look(vars(value), each, depth, seen)

    def _partial(self, value: Any, depth: int, seen: set, _: str | None) -> Iterator[Hashable]:
        """A function with some of its arguments."""
        for part in (value.func, value.args, value.keywords):
            yield self.snapshot(part, depth - 1, seen)

    def _method(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """A method, and what it is called on."""
        yield self.snapshot(value.__func__, depth - 1, seen, name)
        if not is_passed_by(value.__func__, depth):
            yield self.snapshot(value.__self__, depth - 1, seen, "self")

    def _function(self, function: Any, depth: int, seen: set, _: str | None) -> Iterator[Hashable]:
        """A function by its code and by what its code names."""
        if is_passed_by(function, depth):
            return
        self._functions.append((function, function.__code__, function.__defaults__))
        words = words_of(function.__code__)
        self.met |= words.pairs
        yield id(function.__code__)
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            try:
                found = cell.cell_contents
            except ValueError:
                self._certain = False
                yield "empty"
                continue
            self._cells.append((cell, found))
            yield self.snapshot(found, depth - 1, seen, name)
        for name in sorted(words.names):
            yield from self.look(function.__globals__, name, depth, seen)
        for value in function.__defaults__ or ():
            yield self.snapshot(value, depth - 1, seen)
        for name in function.__kwdefaults__ or ():
            yield from self.look(function.__kwdefaults__, name, depth, seen)


WALKS = (
    (CONTAINERS, Places._container),
    (np.ndarray, Places._array),
    (types.FunctionType, Places._function),
    (types.MethodType, Places._method),
    (functools.partial, Places._partial),
    (type, Places._class),
    (types.ModuleType, Places._package),
)
"""How values of Python's own kinds are walked."""


class Numbered:
    """The parts of a list by their numbers."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, number: int) -> Any:
        """A part, if the list is that long."""
        return self.value[number] if number < len(self.value) else None

    def __setitem__(self, number: int, part: Any) -> None:
        self.value[number] = part


class Slots:
    """The attributes of an object that keeps none in a dictionary."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, name: str, default: Any) -> Any:
        """What a name stands for."""
        return getattr(self.value, name, default)


def is_passed_by(function: Any, depth: int) -> bool:
    """Whether a function is one of ours that a user's calls; what is compiled itself is none."""
    return depth < DEEPEST - 1 and (
        not isinstance(function, types.FunctionType) or is_ours(function.__code__)
    )


def state_of(value: Any) -> Callable[[], Hashable] | None:
    """Where a generator of random numbers stands: Python's, or one of numpy's."""
    if hasattr(value, "get_state") and hasattr(value, "seed"):
        return lambda: stood_at(value.get_state())
    if hasattr(value, "bit_generator"):
        return lambda: str(value.bit_generator.state)
    return getattr(value, "getstate", None)


def random_state() -> tuple[Hashable, ...]:
    """Where Python's own generator stands and where numpy's does, if anybody has loaded them."""
    loaded = [sys.modules.get(name) for name in ("random", "numpy.random")]
    return tuple([None if (read := state_of(x)) is None else read() for x in loaded])


def stood_at(state: tuple) -> Hashable:
    """A state of numpy's older generators as something to compare."""
    return (state[1].tobytes(), *state[2:])


def parts_of(value: Any) -> tuple | None:
    """What is inside a list, a dictionary or the like, any tensor as one; None if it is long."""
    if len(value) > LONGEST:
        return None
    parts = value.values() if isinstance(value, dict) else value
    inside = [Tensor if isinstance(part, Tensor) else part for part in parts]
    return (*value, *inside) if isinstance(value, dict) else tuple(inside)


def same(value: Any, before: Any) -> bool | None:
    """Whether a value is what it was; None for another object, which may be equal inside."""
    if value is not before and isinstance(value, PLAIN) and isinstance(before, PLAIN):
        return typed(value) == typed(before)
    return True if value is before else None


def same_parts(value: Any, parts: tuple | None) -> bool:
    """Whether the same objects are inside a list, a dictionary or the like."""
    found = parts_of(value)
    if found is None or parts is None:
        return found is parts
    return len(found) == len(parts) and all(map(operator.is_, found, parts))


def of_function(function: Any, objects: tuple[Any, ...] = ()) -> tuple[Hashable, Places]:
    """What a function and objects that it is given may read, with modules by their identity."""
    pairs: set[tuple[str | None, str]] = set()
    loose: set[str] = set()
    for _ in range(ROUNDS):
        places = Places(pairs, loose)
        seen: set = set()
        found = tuple([places.snapshot(x, DEEPEST, seen) for x in (function, *objects)])
        if places.met == pairs and places.loose == loose:
            break
        pairs, loose = places.met, places.loose
    return found, places
