"""What a captured function depends on besides tensors: its arguments' structure, and Python values.

Values are compared by snapshots of what the function's code names: closure cells and globals, and
what is inside modules, lists and other functions among them.
"""

from __future__ import annotations

import inspect
import operator
import sys
import types
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError
from gnomon.ir.node import typed
from gnomon.ir.provenance import is_ours
from gnomon.tensor import changes
from gnomon.tensor.device import Device
from gnomon.tensor.tensor import Tensor, raw

PLAIN = (bool, int, float, str, bytes, type(None), DType, Device, complex)
DEEPEST = 4
LONGEST = 64


class Place(NamedTuple):
    """Stands for the k-th tensor of a nested value."""

    number: int


PLACES = tuple(map(Place, range(LONGEST)))


class Nest(NamedTuple):
    """A nested value's container: its kind, its names, its parts."""

    kind: Any
    names: tuple
    parts: tuple


class Constant:
    """A Python value inside a nested one, compared with its type and its sign of zero."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self.key: Hashable = typed(value)
            hash(self.key)
        except TypeError:
            self.key = ("object", id(value))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.key == other.key


def structure_of_call(args: tuple, kwargs: dict) -> tuple[Any, Sequence[Tensor]]:
    """The structure of a call's arguments, and their tensors; most are tensors alone."""
    count = len(args)
    if not kwargs and count < LONGEST:
        for x in args:
            if type(x) is not Tensor:
                break
        else:
            if count < 2 or len(set(map(id, args))) == count:
                return tensors_alone(count), args
    found: list[Tensor] = []
    return flatten((args, kwargs), found), found


@cache
def tensors_alone(count: int) -> Nest:
    """The structure of a call with so many different tensors."""
    return Nest(tuple, (), (Nest(tuple, (), PLACES[:count]), nothing(dict)))


def flatten(value: Any, found: list[Tensor]) -> Any:
    """The structure of a nested value; its tensors are added to the list."""
    return structure_of(value, found, {id(t): k for k, t in enumerate(found)})


def structure_of(value: Any, found: list[Tensor], places: dict[int, int]) -> Any:
    """The same, given the places of the tensors in the list."""
    if isinstance(value, Tensor):
        place = places.setdefault(id(value), len(found))
        if place == len(found):
            found.append(value)
        return PLACES[place] if place < LONGEST else Place(place)
    if isinstance(value, (dict, list, tuple)) and not isinstance(value, (Place, Nest)):
        if not value:
            return nothing(type(value))
        if not isinstance(value, dict):
            return Nest(type(value), (), tuple([structure_of(v, found, places) for v in value]))
        parts = tuple([structure_of(v, found, places) for v in value.values()])
        return Nest(type(value), tuple(map(Constant, value)), parts)
    return Constant(value)


@cache
def nothing(kind: Any) -> Nest:
    """The structure of an empty container."""
    return Nest(kind, (), ())


def unflatten(tree: Any, tensors: Sequence[Tensor]) -> Any:
    """A nested value from its structure."""
    if isinstance(tree, Place):
        return tensors[tree.number]
    if isinstance(tree, Constant):
        return tree.value
    parts = [unflatten(part, tensors) for part in tree.parts]
    if issubclass(tree.kind, dict):
        return tree.kind(zip((name.value for name in tree.names), parts, strict=True))
    return tree.kind(*parts) if hasattr(tree.kind, "_fields") else tree.kind(parts)


def signature_of(tensor: Tensor) -> tuple:
    """What a program fixes about an argument."""
    rare, leaf = tensor._rare, tensor._requires
    gathered = rare is not None and rare.grad is not None
    if tensor._view is None:
        storage = tensor._storage
        node, wanted = storage.node, leaf or storage.tracked
    else:
        node, wanted = raw(tensor), tensor.requires_grad
    return (node.shape, node.dtype, wanted, leaf, gathered)


# Python values that the function's code names


class Places:
    """Where a snapshot found its values: while the same objects are there, nothing has changed."""

    def __init__(self) -> None:
        self.modules: list[Any] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._names: list[tuple[dict, str, Any]] = []
        self._parts: list[tuple[Any, tuple | None]] = []
        self._functions: list[tuple[Any, Any, Any]] = []
        self._tensors: list[tuple[Tensor, object, bool]] = []
        self._certain = True
        self._read: tuple[str, ...] = ()
        """Names in the code of the function that is looked at."""

    def hold(self) -> bool:
        """Whether the same objects are there, and tensors want gradients as they did."""
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
        for value, parts in self._parts:
            if not same_parts(value, parts):
                return False
        for tensor, storage, wanted in self._tensors:
            if tensor._storage is not storage or tensor.requires_grad is not wanted:
                return False
        return self._certain

    def snapshot(self, value: Any, depth: int, seen: set[int]) -> Hashable:
        """A value as something to compare: plain values as they are, others by what is inside."""
        if isinstance(value, PLAIN):
            return typed(value)
        if isinstance(value, Tensor):
            self._tensors.append((value, value._storage, value.requires_grad))
            return ("tensor", id(value), id(value._storage), value.requires_grad)
        if id(value) in seen or depth <= 0:
            return id(value)
        if is_users(type(value)):
            return self._object(value, depth, seen)
        seen.add(id(value))
        if isinstance(value, (types.FunctionType, types.MethodType)):
            before, self._read = self._read, names_in(value.__code__)
            found = self._function(value, depth, seen)
            self._read = before
            return found
        if hasattr(value, "_modules") and hasattr(value, "_parameters"):
            self.modules.append(value)
            return id(value)
        if isinstance(value, (list, tuple, dict)):
            return self._container(value, depth, seen)
        return id(value)

    def _container(self, value: Any, depth: int, seen: set[int]) -> Hashable:
        """A list or a dictionary by what is inside, if that is little."""
        parts = parts_of(value)
        self._parts.append((value, parts))
        if parts is None:
            return id(value)
        if isinstance(value, dict):
            inner = ((typed(str(k)), self.snapshot(v, depth - 1, seen)) for k, v in value.items())
        else:
            inner = (self.snapshot(v, depth - 1, seen) for v in parts)
        return (id(value), *inner)

    def _object(self, value: Any, depth: int, seen: set[int]) -> Hashable:
        """A user's object by the attributes that the code names, and by what its methods name."""
        if (mark := hash((id(value), self._read))) in seen:
            return id(value)
        seen.add(mark)
        parts: list[Hashable] = [id(value)]
        for name in self._read:
            found = value.__dict__.get(name, MISSING)
            if found is not MISSING:
                self._names.append((value.__dict__, name, found))
                parts.append((name, self.snapshot(found, depth - 1, seen)))
                continue
            method = inspect.getattr_static(type(value), name, None)
            method = inspect.unwrap(getattr(method, "fget", method))
            if isinstance(method, types.FunctionType) and not is_ours(method.__code__):
                parts.append(self.snapshot(types.MethodType(method, value), depth + 1, seen))
        return tuple(parts)

    def _function(self, function: Any, depth: int, seen: set[int]) -> Hashable:
        """A function by its code and by what its code names."""
        owner = getattr(function, "__self__", None)
        function = getattr(function, "__func__", function)
        self._functions.append((function, function.__code__, function.__defaults__))
        parts: list[Hashable] = [id(function.__code__)]
        if owner is not None:
            parts.append(self.snapshot(owner, depth - 1, seen))
        for cell in function.__closure__ or ():
            try:
                found = cell.cell_contents
            except ValueError:
                self._certain = False
                parts.append("empty")
                continue
            self._cells.append((cell, found))
            parts.append(self.snapshot(found, depth - 1, seen))
        names = function.__globals__
        for name in function.__code__.co_names:
            found = names.get(name, MISSING)
            self._names.append((names, name, found))
            if found is not MISSING and not isinstance(found, (types.ModuleType, type)):
                parts.append(self.snapshot(found, depth - 1, seen))
        parts += [self.snapshot(v, depth - 1, seen) for v in function.__defaults__ or ()]
        return tuple(parts)


MISSING = object()
PACKAGE_NAME = __name__.split(".")[0]
NAMESPACES = ("Namespace", "SimpleNamespace")
"""Python's own classes that hold a user's options."""


@cache
def names_in(code: types.CodeType) -> tuple[str, ...]:
    """Global names and attributes in code, and in what is defined inside of it."""
    within = (names_in(x) for x in code.co_consts if isinstance(x, types.CodeType))
    return tuple(sorted({*code.co_names, *chain.from_iterable(within)}))


@cache
def is_users(kind: type) -> bool:
    """Whether a class is the user's own and has attributes; containers and our own aside."""
    if kind.__dictoffset__ == 0 or issubclass(kind, (type, list, tuple, dict)):
        return False
    if any(base.__module__.split(".")[0] == PACKAGE_NAME for base in kind.__mro__):
        return False
    module = kind.__module__.split(".")[0]
    return module not in sys.stdlib_module_names or kind.__name__ in NAMESPACES


def parts_of(value: Any) -> tuple | None:
    """What is inside a list, a tuple or a dictionary; None if it is long."""
    if len(value) > LONGEST:
        return None
    return (*value, *value.values()) if isinstance(value, dict) else tuple(value)


def same_parts(value: Any, parts: tuple | None) -> bool:
    """Whether the same objects are inside a list, a tuple or a dictionary."""
    found = parts_of(value)
    if found is None or parts is None:
        return found is parts
    return len(found) == len(parts) and all(map(operator.is_, found, parts))


class Guard:
    """The values that a function named when it was captured."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self._looked = changes.latest()
        self._outside, self._places = outside(function)
        self._inside = [module_snapshot(module) for module in self._places.modules]

    @property
    def modules(self) -> list[Any]:
        """The modules among them."""
        return self._places.modules

    def holds(self) -> bool:
        """Whether they are the same now; modules are looked into only if any has changed."""
        now, places = changes.latest(), self._places
        if not places.hold():
            found, places = outside(self.function)
            if found != self._outside:
                return False
            self._places = places
        if now != self._looked:
            if [module_snapshot(module) for module in places.modules] != self._inside:
                return False
            self._looked = now
        return True


def outside(function: Callable) -> tuple[Hashable, Places]:
    """What a function names, with modules by their identity alone, and where it was found."""
    places = Places()
    return places.snapshot(function, DEEPEST, set()), places


def guard_of(function: Callable) -> Guard:
    """A guard over what a function names."""
    if not callable(function):
        raise ArgumentError(f"compile: expected a function or a module: got {function!r}.")
    return Guard(function)


def module_snapshot(module: Any) -> Hashable:
    """A module by what is inside: plain attributes, its mode among them, parameters, buffers."""
    parts: list[Hashable] = []
    for inner in module.modules():
        parts.append(id(inner))
        parts += [
            (name, typed(value))
            for name, value in inner.__dict__.items()
            if isinstance(value, PLAIN) or (isinstance(value, tuple) and is_plain(value))
        ]
        parts += [
            (name, None if value is None else (id(value._storage), value.requires_grad))
            for name, value in (*inner._parameters.items(), *inner._buffers.items())
        ]
        parts += [len(inner._modules), len(inner._forward_hooks), len(inner._forward_pre_hooks)]
    return tuple(parts)


def is_plain(values: tuple) -> bool:
    """Whether a tuple holds plain values only."""
    return all(isinstance(value, PLAIN) for value in values)
