"""Closure state: what a captured function may read besides its arguments, by a walk of its code.

Code says which attributes it reads, and of what: `self.options.scale` reads `scale` of what is
called `options`. All code that can be reached is read first, since an object may be handed from one
function to another. What cannot be walked has a state, or is said to be opaque (object_state.py):
nothing is silently taken for constant. What was found is looked at in snapshot.py, and compared in
guards.py.
"""

from __future__ import annotations

import functools
import operator
import sys
import types
import weakref
from abc import ABCMeta
from collections import defaultdict, deque
from collections.abc import Hashable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from gnomon.capture.callables import DEEPEST, Callables
from gnomon.capture.code_names import (
    KNOWN,
    MAKING,
    NO_WORDS,
    is_of_package,
    names_of,
    reads_by_name,
    walked_among,
)
from gnomon.capture.number_places import WithoutNumbers
from gnomon.capture.object_state import (
    PLAIN,
    RULES,
    TABLES,
    Version,
    has_state,
    is_plain_value,
    of_registry,
    state_of,
)
from gnomon.capture.snapshot import (
    NumberedParts,
    SlotAttributes,
    TupleParts,
    contents,
    own_of,
    parts_of,
)
from gnomon.ir.memo import memo, typed
from gnomon.ir.provenance import package_of
from gnomon.tensor.autograd.hooks import hooks_of
from gnomon.tensor.module_versions import tables_of
from gnomon.tensor.tensor import Paired, Tensor

__all__ = ["Places", "of_function"]

CONTAINERS = (list, tuple, dict, set, frozenset, deque, types.MappingProxyType)
VIEWS = tuple(map(type, ({}.keys(), {}.values(), {}.items())))
WIDEST = 4096
"""Parts of a container that are walked into."""
ROUNDS = 8
"""The most repetitions of a walk with newly found names."""
MET_WHEN_CALLED = frozenset(
    {"logging", "threading", "concurrent", "multiprocessing", "asyncio", "warnings", "re", "typing"}
)
"""Packages of Python's whose methods are not walked: they read what an object keeps by itself."""


class Places(Callables):
    """A walk over values that records where tensors and numbers are stored."""

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors on the walk."""
        return [x for x, *_ in self._tensors]

    def snapshot(self, value: Any, depth: int, seen: set, name: str | None = None) -> Hashable:
        """A comparable form of a value: plain values themselves, others by their contents.

        `name` is the name by which code reads it.
        """
        kind = type(value)
        if issubclass(kind, PLAIN) and not walked_among(kind):
            return typed(value)
        if issubclass(kind, Tensor):
            return self._tensor(value, depth, seen, name)
        if issubclass(kind, Paired):
            self._alive.append(value)
            return (id(value), *self._tensor(value._pair, depth, seen, name))
        # another tuple of the same parts is as good, in a place that was noted
        movable = issubclass(kind, tuple) and id(value) in self._homes
        identity = kind if movable or kind is types.MethodType else id(value)
        if (key := (id(value), name)) in seen:
            return identity
        seen.add(key)
        self._alive.append(value)  # or another object could get its number
        if depth <= 0:
            self.opaque.append(f"{name or kind.__name__}: it is {DEEPEST} objects deep")
            return id(value)
        for kinds, walk in WALKS:
            if issubclass(kind, kinds):
                found = walk(self, value, depth, seen, name)
                break
        else:
            found = self._other(value, depth, seen, name)
        return (identity, *found)

    def _other(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of an object whose class is neither Python's nor Gnomon's."""
        kind = type(value)
        package = package_of(kind.__module__)
        own = own_of(value)
        if hasattr(kind, "register_forward_hook"):
            yield from self._module(value, depth, seen, name)
        elif own is not None and "__wrapped__" in own:
            yield self.snapshot(own["__wrapped__"], depth, seen, name)
            yield self._state(state_of(value), name, kind)
        elif package in MET_WHEN_CALLED:
            yield from self._attributes_alone(value, own or {}, depth, seen, name)
        elif walked_among(kind) or own is not None:
            yield from self._object(value, depth, seen, name)
            has_more = package in KNOWN or has_state(kind.__mro__)
            yield tuple(self._kept_by(value, depth, seen, name)) if has_more else None
        else:
            yield self._state(state_of(value), name, kind)

    def _tensor(self, value: Tensor, depth: int, seen: set, name: str | None) -> Hashable:
        """The form of a tensor: its storage, its hooks and its attributes."""
        key = (id(value), name)
        if key not in seen:
            seen.add(key)
            self._tensors.append((value, value._storage, value.requires_grad))
            hooks = [self.snapshot(hook, depth - 1, seen) for hook in hooks_of(value)]
            tied = self._tied(value, depth, seen, name)
            return ("tensor", id(value), id(value._storage), value.requires_grad, *hooks, *tied)
        return ("tensor", id(value), id(value._storage), value.requires_grad)

    def _tied(self, value: Tensor, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The forms of a tensor's user-set attributes; of a subclass, of all that code names."""
        own = own_of(value)
        if value._overrides:
            yield from self._object(value, depth, seen, name)
        elif own is not None:
            for each in sorted(self.named(name) & own.keys()):
                yield from self.look(own, each, depth, seen)
            self._lack(own, self.named(name) & self.words.doubtful)

    def _keep(self, names: Any, key: Any, tensor: Tensor, owner: Any) -> None:
        """Record the place where a tensor is stored, once."""
        if (id(owner), key) not in self._looked:
            self._looked.add((id(owner), key))
            self._alive.append(owner)
            self.kept.append((names, key, tensor))

    def _container(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a container by its items."""
        if value is sys.modules:  # a walk of all that is loaded takes minutes
            self.opaque.append("`sys.modules`")
            return
        numbers = {key for owner, key in self.any_number if owner == id(value)}
        shown = WithoutNumbers(value, numbers) if numbers else value
        if type(shown) not in (tuple, frozenset):  # which hold the same objects for good
            self._parts.append((shown, parts_of(shown)))
        parts = contents(shown)
        yield len(parts)
        if not all(type(part) in PLAIN for part in parts[WIDEST:]):
            self.opaque.append(f"{name or type(value).__name__}: it has {len(parts)} parts")
        keyed = issubclass(type(value), dict)
        first, home = len(parts) // 2 if keyed else 0, self._homes.get(id(value))
        inside = value if keyed else TupleParts(*home, value) if home else NumberedParts(value)
        for number, part in enumerate(parts[: WIDEST if len(parts) > WIDEST else None]):
            if issubclass(type(part), Tensor) and number >= first:
                yield "tensor"
                self._keep(inside, parts[number - first] if keyed else number, part, value)
            else:
                if number >= first:
                    self._stands(part, inside, parts[number - first] if keyed else number)
                elif issubclass(type(part), Tensor):
                    self.met = self.met._replace(compares=True)
                yield self.snapshot(part, depth - 1, seen)
        if issubclass(type(value), defaultdict):
            yield self.snapshot(value.default_factory, depth - 1, seen)
        if walked_among(type(value)):
            yield from self._object(value, depth, seen, name)

    def _variable(self, value: ContextVar, depth: int, seen: set, name: str | None) -> Iterator:
        """The form of a context variable by its value."""
        yield self._state(state_of(value), name, ContextVar)
        yield self.snapshot(value.get(None), depth - 1, seen)

    def _array(self, value: np.ndarray, depth: int, seen: set, name: str | None) -> Iterator:
        """The form of a numpy array by its bytes, or by its objects."""
        yield self._state(state_of(value), name, np.ndarray)
        for part in value.ravel().tolist() if value.dtype.hasobject else ():
            yield self.snapshot(part, depth - 1, seen)

    def _kind(self, kind: type) -> Hashable:
        """The form of a class by its version; of Gnomon's classes with their attributes."""
        if kind in self._kinds:
            return id(kind)
        made = self._kinds[kind] = Version(kind)
        self._certain &= made.known != 0
        held = [x for base in kind.__mro__ if is_of_package(base) for x in vars(base).values()]
        self._alive += held
        return (id(kind), *map(id, held))

    def _object(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of an object by the attributes that code and its methods name."""
        kind, own = type(value), own_of(value)
        yield self._kind(kind)
        self._objects.append((value, kind, own))
        self._certain &= not any("__getattribute__" in vars(base) for base in walked_among(kind))
        yield from self._attributes(value, {} if own is None else own, depth, seen, name)

    def _attributes(
        self, value: Any, own: dict, depth: int, seen: set, name: str | None
    ) -> Iterator[Hashable]:
        """The forms of attributes and slots that code names, and of special methods."""
        kind, named = type(value), self.named(name)
        below = names_of(kind, self._below)
        if self.words.every:
            named = named | own.keys() | below.all
            self._parts.append((own.keys(), parts_of(own.keys())))
        elif any(map(is_of_package, kind.__mro__)):
            named = named | read_by_ours(kind, own)
        is_module = hasattr(kind, "register_forward_hook")
        for each in sorted(named & own.keys()):
            found = own[each]
            if issubclass(type(found), Tensor):
                self._keep(own, each, found, own)
            elif not (is_module and is_plain_value(found)):
                yield from self.look(own, each, depth, seen)
        if not is_module:
            doubtful = named if below.makes else named & (below.all | self.words.doubtful)
            self._lack(own, doubtful | of_package(kind))
        for each in sorted(named & below.all | below.special):
            for base in walked_among(kind):
                if each in vars(base):
                    yield from self._held(value, vars(base)[each], depth, seen, each)

    def _held(self, value: Any, held: Any, depth: int, seen: set, name: str) -> Iterator[Hashable]:
        """The form of a class attribute: a method's or property's function, else its value."""
        kind = type(held)
        if kind in (staticmethod, classmethod):
            yield self.snapshot(held.__func__, depth - 1, seen, name)
            return
        inner = inner_of(held)
        if kind in (functools.partialmethod, functools.singledispatchmethod):
            for part in ("args", "keywords", "dispatcher"):
                yield self.snapshot(getattr(held, part, None), depth - 1, seen, name)
        if inner is not held:
            self.met = self.met.with_loose(name)
            held, kind = inner, type(inner)
        if kind is types.FunctionType:
            yield self.snapshot(types.MethodType(held, value), depth, seen, name)
        elif kind is types.MemberDescriptorType:
            yield from self.look(SlotAttributes(value), name, depth, seen)
        elif kind not in (types.GetSetDescriptorType, types.WrapperDescriptorType):
            if hasattr(kind, "__get__"):
                self.met = self.met.with_loose(name)
            yield self.snapshot(held, depth - 1, seen, name)

    def _module(self, value: Any, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a module's state beyond guards.py's, and of what its forward names."""
        if id(value) not in self._inside:
            self.modules.append(value)
            self._inside |= {id(inner) for inner in value.modules()}
        yield self._kind(type(value))
        own = own_of(value) or {}
        yield from self._attributes(value, own, depth, seen, name)
        if "forward" in own:
            yield from self.look(own, "forward", depth, seen)
        for hooks in tables_of(value):
            for hook in hooks.values():
                yield self.snapshot(hook, depth - 1, seen)
        for each, x in (*value._parameters.items(), *value._buffers.items()):
            if not issubclass(type(x), Tensor):
                continue
            if x._rare is not None or x._overrides or own_of(x):
                yield tuple([self.snapshot(hook, depth - 1, seen) for hook in hooks_of(x)])
                yield tuple(self._tied(x, depth, seen, each))
        for each, inner in value._modules.items():
            yield self.snapshot(inner, depth, seen, each)

    def _class(self, value: type, depth: int, seen: set, name: str | None) -> Iterator[Hashable]:
        """The form of a class by its constructors and the attributes that code names."""
        yield self._kind(value)
        for part in sorted(self.named(name) & {"__name__", "__qualname__"}):
            yield from self.look(SlotAttributes(value), part, depth, seen)
        if reads_by_name(value, name):
            self.met = self.met._replace(every=True)
        if value.__module__ in RULES:
            yield self._state(RULES[value.__module__], name, value)
        if issubclass(type(value), ABCMeta):
            yield self._state(of_registry(value), name, value)
        for kind in walked_among(value):
            below = names_of(kind, self._below)
            # its objects go by any name, in its own methods too
            named = below.all if self.words.every else self.anywhere & below.all
            for each in sorted(named | below.special | MAKING):
                if each in vars(kind):
                    yield self.snapshot(inner_of(vars(kind)[each]), depth - 1, seen, each)
        if walked_among(type(value)):
            yield self._kind(type(value))
            yield from self._attributes(value, {}, depth, seen, name)

    def _package(
        self, value: types.ModuleType, depth: int, seen: set, name: str | None
    ) -> Iterator[Hashable]:
        """The form of a Python module by the attributes that code reads of it."""
        own, is_users = vars(value), package_of(value.__name__) not in KNOWN
        named = self.named(name) if is_users else frozenset(self._of.get(name, ()))
        if not is_users and "__getattr__" in own:
            for each in named - own.keys():  # what loads late is there before the function runs
                getattr(value, each, None)
        for each in sorted(named & own.keys()):
            yield from self.look(own, each, depth, seen)
        if is_users:
            self._lack(own, named & self.words.doubtful)
            if "__getattr__" in own:
                yield from self.look(own, "__getattr__", depth, seen)


WALKS = (
    ((*CONTAINERS, *VIEWS), Places._container),
    (np.ndarray, Places._array),
    (weakref.ref, Places._reference),
    (ContextVar, Places._variable),
    (types.FunctionType, Places._function),
    (types.MethodType, Places._method),
    ((types.BuiltinMethodType, types.MethodWrapperType), Places._bound),
    (functools.partial, Places._partial),
    ((operator.attrgetter, operator.methodcaller), Places._getter),
    (type, Places._class),
    (types.ModuleType, Places._package),
)
"""Python's own kinds of values -> the method that walks them."""


def read_by_ours(kind: type, own: dict[str, Any]) -> set[str]:
    """The attributes that Gnomon's methods may read: all, but of a user's module the callable ones.

    `_followed` of a class names those that captures follow by themselves; None: all of them.
    """
    followed = getattr(kind, "_followed", TABLES)
    if followed is None:
        return set()
    if hasattr(kind, "register_forward_hook") and not is_of_package(kind):
        return {each for each, found in own.items() if is_called(found)}
    return set(own) - followed


@memo
@functools.cache
def of_package(kind: type) -> frozenset[str]:
    """The names in Gnomon's classes that an object's own attribute would hide."""
    return frozenset().union(*(vars(base) for base in kind.__mro__ if is_of_package(base)))


def is_called(found: Any) -> bool:
    """Whether a value is callable, or a container with something callable inside."""
    inside = contents(found) if type(found) in (list, tuple, dict) else (found,)
    return any(callable(x) and not issubclass(type(x), Tensor) for x in inside[:WIDEST])


def inner_of(held: Any) -> Any:
    """The function inside a staticmethod, property or the like; any other value itself."""
    if type(held).__module__ not in MAKERS:
        return held
    found = (getattr(held, name, None) for name in ("__func__", "fget", "func"))
    return next((x for x in found if x is not None), held)


MAKERS = frozenset({"builtins", "functools", "enum", "types", "abc"})
"""Files whose properties and methods hold a function."""


def of_function(
    function: Any,
    objects: tuple[Any, ...] = (),
    any_number: frozenset[tuple[int, Any]] = frozenset(),
) -> tuple[Hashable, Places]:
    """The comparable form of all that a function and objects passed to it may read, and its walk.

    Modules are compared by identity. Of `any_number`, entries of containers, only the class counts.
    """
    words, held = NO_WORDS, frozenset()
    for _ in range(ROUNDS):
        places = Places(words, any_number, held)
        seen: set = set()
        found = tuple([places.snapshot(x, DEEPEST, seen) for x in (function, *objects)])
        if places.met == words:
            break
        words, held = places.met, places.walked
    return found, places
