"""What a captured function depends on besides tensors: its arguments' structure, and Python values.

Values are compared by snapshots of what the function's code names: closure cells and globals, and
what is inside modules, lists and other functions among them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError
from gnomon.ir.node import typed
from gnomon.tensor import changes
from gnomon.tensor.device import Device
from gnomon.tensor.tensor import Tensor

PLAIN = (bool, int, float, str, bytes, type(None), DType, Device, complex)
DEEPEST = 4
LONGEST = 64


class Place(NamedTuple):
    """Stands for the k-th tensor of a nested value."""

    number: int


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


def flatten(value: Any, found: list[Tensor]) -> Any:
    """The structure of a nested value; its tensors are added to the list."""
    if isinstance(value, Tensor):
        known = next((k for k, t in enumerate(found) if t is value), None)
        if known is None:
            found.append(value)
            known = len(found) - 1
        return Place(known)
    if isinstance(value, dict):
        parts = tuple(flatten(v, found) for v in value.values())
        return Nest(type(value), tuple(map(Constant, value)), parts)
    if isinstance(value, (list, tuple)) and not isinstance(value, (Place, Nest)):
        return Nest(type(value), (), tuple(flatten(v, found) for v in value))
    return Constant(value)


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
    gathered = tensor._rare is not None and tensor._rare.grad is not None
    return (tuple(tensor.shape), tensor.dtype, tensor.requires_grad, tensor._requires, gathered)


# Python values that the function's code names


class Guard:
    """The values that a function named when it was captured."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self._looked = changes.latest()
        self._outside, modules = outside(function)
        self._inside = [module_snapshot(module) for module in modules]

    def holds(self) -> bool:
        """Whether they are the same now; modules are looked into only if any has changed."""
        now = changes.latest()
        found, modules = outside(self.function)
        if found != self._outside:
            return False
        if now != self._looked:
            if [module_snapshot(module) for module in modules] != self._inside:
                return False
            self._looked = now
        return True


def outside(function: Callable) -> tuple[Hashable, list[Any]]:
    """What a function names, with modules by their identity alone, and these modules."""
    modules: list[Any] = []
    return snapshot(function, DEEPEST, set(), modules), modules


def guard_of(function: Callable) -> Guard:
    """A guard over what a function names."""
    if not callable(function):
        raise ArgumentError(f"compile: expected a function or a module: got {function!r}.")
    return Guard(function)


def snapshot(value: Any, depth: int, seen: set[int], modules: list[Any]) -> Hashable:
    """A value as something to compare: plain values as they are, others by what is inside."""
    if isinstance(value, PLAIN):
        return typed(value)
    if isinstance(value, Tensor):
        return ("tensor", id(value), value.requires_grad)
    if id(value) in seen or depth == 0:
        return id(value)
    seen.add(id(value))
    if isinstance(value, (types.FunctionType, types.MethodType)):
        return function_snapshot(value, depth, seen, modules)
    if hasattr(value, "_modules") and hasattr(value, "_parameters"):
        modules.append(value)
        return id(value)
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST:
        return (id(value), *(snapshot(v, depth - 1, seen, modules) for v in value))
    if isinstance(value, dict) and len(value) <= LONGEST:
        return (
            id(value),
            *((typed(str(k)), snapshot(v, depth - 1, seen, modules)) for k, v in value.items()),
        )
    return id(value)


def function_snapshot(function: Any, depth: int, seen: set[int], modules: list[Any]) -> Hashable:
    """A function by its code and by what its code names."""
    owner = getattr(function, "__self__", None)
    function = getattr(function, "__func__", function)
    parts: list[Hashable] = [id(function.__code__)]
    if owner is not None:
        parts.append(snapshot(owner, depth - 1, seen, modules))
    for cell in function.__closure__ or ():
        try:
            parts.append(snapshot(cell.cell_contents, depth - 1, seen, modules))
        except ValueError:
            parts.append("empty")
    for name in function.__code__.co_names:
        if name in function.__globals__:
            found = function.__globals__[name]
            if not isinstance(found, (types.ModuleType, type)):
                parts.append(snapshot(found, depth - 1, seen, modules))
    parts += [snapshot(v, depth - 1, seen, modules) for v in function.__defaults__ or ()]
    return tuple(parts)


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
