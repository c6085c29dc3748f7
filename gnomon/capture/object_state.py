"""Object state: signs by which classes and objects that are not walked tell that they changed.

A class has CPython's own version, which is another one after every change of it or of a class that
it derives from. Other objects have a state that can be compared, or never change, or are opaque:
what cannot be seen is never taken for constant. The walk itself is closure_state.py.
"""

from __future__ import annotations

import _random
import abc
import array
import contextvars
import ctypes
import functools
import gc
import itertools
import sys
import threading
import types
import warnings
import weakref
from _abc import _get_dump
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from operator import is_
from typing import Any

import numpy as np

from gnomon.dtypes import DType
from gnomon.ir.memo import memo, typed
from gnomon.ir.provenance import package_of
from gnomon.tensor.device import Device

__all__ = [
    "OPAQUE",
    "PLAIN",
    "RULES",
    "Same",
    "TABLES",
    "Version",
    "has_state",
    "is_plain_value",
    "is_written_in_python",
    "key_of",
    "never_changes",
    "of_attributes",
    "of_registry",
    "random_state",
    "state_of",
]

PLAIN = (bool, int, float, str, bytes, type(None), DType, Device, complex)
"""Classes whose objects are compared by value."""
TABLES = frozenset(
    {"_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"}
    | {"_backward_hooks", "_backward_pre_hooks", "_hook_words", "_non_persistent_buffers_set"}
)
"""The dictionaries of a module's parts, whose entries are compared one by one."""
VERSION = 384
"""The offset of a class's version in memory, in CPython 3.11 to 3.14."""
OPAQUE = object()
"""The state of an object that shows none."""
SETTLED = frozenset(
    {"builtins", "re", "_sre", "decimal", "fractions", "datetime", "uuid", "pathlib", "types"}
    | {"_thread", "threading", "logging", "operator", "_struct", "struct", "typing", "abc", "_abc"}
    | {"numpy", "gnomon", "zoneinfo", "ipaddress", "functools", "enum", "property", "inspect"}
    | {"_collections", "dataclasses", "msgspec"}
)
"""Packages whose objects never change, or whose use is seen when they are called."""
STEPS = tuple(type(iter(x)) for x in ((), [], {}, set(), "", b"", range(1), {}.values()))
"""Iterators over Python's own containers, whose position can be read."""


class Same(tuple):
    """A group of objects, equal to another only if it has the very same objects."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and len(self) == len(other) and all(map(is_, self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other


class Version:
    """A class and its version number; 0 where Python has none."""

    __slots__ = ("_cell", "kind", "known")

    def __init__(self, kind: type) -> None:
        self.kind, self._cell = kind, ctypes.c_uint.from_address(id(kind) + VERSION)
        type.__getattribute__(kind, "__init__")  # a look is what gives it a version
        self.known = self._cell.value if has_versions() else 0

    def holds(self) -> bool:
        """Whether neither the class nor a base class has changed."""
        return self._cell.value == self.known != 0


@functools.cache
def has_versions() -> bool:
    """Whether this Python keeps class versions at the known offset, tried on two classes."""
    if sys.implementation.name != "cpython" or type.__basicsize__ < VERSION + 4:
        return False
    above = type("Above", (), {"x": 1})
    below = type("Below", (above,), {})
    found = []
    for value in (2, 2):
        type.__getattribute__(below, "x")
        found.append(ctypes.c_uint.from_address(id(below) + VERSION).value)
        above.x = value
    return 0 not in found and found[0] != found[1]


def is_plain_value(value: Any) -> bool:
    """Whether a value is plain, or a tuple of plain values."""
    return type(value) in PLAIN or (type(value) is tuple and all(type(x) in PLAIN for x in value))


def never_changes(value: Any) -> bool:
    """Whether an object is immutable, or its changes are detected where it is used."""
    kind = type(value)
    package = package_of(kind.__module__)
    if package == "numpy" and (kind is np.void or is_written_in_python(kind)):
        return False
    return package in SETTLED and not hasattr(kind, "__next__")


def is_written_in_python(kind: type) -> bool:
    """Whether all state of a class's objects is in their attributes.

    >>> from collections import OrderedDict, UserDict
    >>> is_written_in_python(UserDict), is_written_in_python(OrderedDict)
    (True, False)
    """
    parts = [x for base in kind.__mro__[:-1] for x in vars(base).values()]
    return not any(isinstance(x, IN_C) for x in parts)


IN_C = types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType
"""Types of class entries by which a class is written in C, or has slots."""


def state_of(value: Any) -> Callable[[], Hashable] | Any:
    """A function that reads an object's state in a comparable form; None if it cannot change."""
    kind = type(value)
    for kinds, state in STATES:
        if issubclass(kind, kinds):
            return state(value)
    is_followed = getattr(kind, "_followed", ()) is None  # a stream of ours: its replays draw anew
    if hasattr(kind, "get_state") and hasattr(kind, "seed") and not is_followed:
        return lambda: stood_at(value.get_state())
    if hasattr(kind, "bit_generator"):
        return lambda: str(value.bit_generator.state)
    if kind.__module__ == "decimal":
        return functools.partial(decimal_rules, value) if hasattr(value, "prec") else decimal_rules
    if (kind.__module__, kind.__name__) == ("argparse", "Namespace"):
        return lambda: tuple(vars(value))  # what is read of it is walked by name
    return None if never_changes(value) else OPAQUE


@memo
@functools.cache
def has_state(kinds: tuple[type, ...]) -> bool:
    """Whether objects of a class have state outside of their attributes."""
    base = next((x for x in kinds if is_written_in_c(x)), object).__module__
    if base.startswith("_cython"):  # functions, seen when they are called
        return False
    is_open = package_of(base) not in SETTLED or base.startswith("numpy.random")
    return is_open or any(issubclass(kinds[0], known) for known, _ in STATES)


def is_written_in_c(kind: type) -> bool:
    """Whether methods of a class itself are written in C."""
    return any(isinstance(x, IN_C[1:]) and x.__objclass__ is kind for x in vars(kind).values())


def decimal_rules(rules: Any = None) -> Hashable:
    """The rounding rules of Python's decimal numbers at present, or of a context."""
    rules = rules or sys.modules["decimal"].getcontext()
    return rules.prec, rules.rounding, rules.Emin, rules.Emax, rules.clamp


def warning_rules() -> Hashable:
    """The state of Python's warning filters."""
    return *warnings.filters, warnings.defaultaction


RULES = {"decimal": decimal_rules, warnings.catch_warnings.__module__: warning_rules}
"""Readers of global state that modules of Python's library depend on."""


def key_of(value: Any) -> Hashable:
    """A plain value itself, the identity of another object."""
    return typed(value) if isinstance(value, PLAIN) else id(value)


def of_drawing(value: Any) -> Callable[[], Hashable] | Any:
    """The reader of a Python random generator's state; OPAQUE for the system's generator."""
    is_systems = any(base.__name__ == "SystemRandom" for base in type(value).__mro__)
    return OPAQUE if is_systems else value.getstate


def of_array(value: np.ndarray) -> Callable[[], Hashable]:
    """A reader of an array's bytes, or of the identities of its objects."""
    if value.dtype.hasobject:
        return lambda: (*array_layout(value), *map(key_of, value.ravel().tolist()))
    return lambda: (*array_layout(value), value.dtype, value.tobytes())


def array_layout(value: np.ndarray) -> tuple:
    """The shape and strides of an array, and whether it may be written to."""
    return value.shape, value.strides, value.flags.writeable


def of_iterator(value: Any) -> Callable[[], Hashable]:
    """A reader of the position of an iterator over a container."""

    def stands() -> Hashable:
        _, given, *left = value.__reduce__()
        parts = given[0] if isinstance(given[0], (list, tuple)) else given
        return (*map(key_of, parts), *left)

    return stands


def of_variable(value: contextvars.ContextVar) -> Callable[[], Hashable]:
    """A reader of the value of a context variable."""
    return lambda: key_of(value.get(OPAQUE))


def of_registry(kind: abc.ABCMeta) -> Callable[[], Hashable]:
    """The reader of the classes registered with an abstract class, and of its subclasses.

    They are inspected only after any class was registered anywhere.
    """
    latest: list[Any] = [None, frozenset()]

    def stands() -> Hashable:
        token = abc.get_cache_token()
        if latest[0] != token:
            latest[:] = token, frozenset(registered(kind))
        return latest[1]

    return stands


def registered(kind: type) -> Iterator[tuple[int, int]]:
    """Each class registered with an abstract class, or with one of its subclasses."""
    for x in {kind, *type.__subclasses__(kind)}:
        found = _get_dump(x)[0] if isinstance(x, abc.ABCMeta) else ()
        yield from ((id(x), id(each())) for each in found)
        if x is not kind:
            yield from registered(x)


def of_local(value: threading.local) -> Callable[[], Hashable]:
    """A reader of the identity of a thread-local object's dictionary in the current thread."""
    return lambda: id(value.__dict__)


def of_attributes(value: Any) -> Callable[[], Hashable]:
    """A reader of the objects in attributes and their lists, and of a logger's effective level."""
    own = vars(value)
    logger = value if hasattr(value, "getEffectiveLevel") else None

    def kept() -> Hashable:
        lists = [each for x in own.values() if isinstance(x, (list, deque, set)) for each in x]
        found = Same((*own, *own.values(), *lists))
        if logger is None:
            return found
        return found, logger.getEffectiveLevel(), logger.manager.disable, logger.hasHandlers()

    return kept


def of_cache(value: Any) -> Callable[[], Hashable]:
    """A reader of a cached function's table, found by the garbage collector."""

    def held() -> Hashable:
        tables = [x for x in gc.get_referents(value) if type(x) is dict and x is not vars(value)]
        return Same(each for table in tables for each in table.values())

    return held


STATES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (np.ndarray, of_array),
    ((bytearray, memoryview, array.array), lambda value: lambda: bytes(value)),
    (contextvars.ContextVar, of_variable),
    (type(functools.lru_cache(len)), of_cache),
    (itertools.count, lambda value: lambda: repr(value)),
    (STEPS, of_iterator),
    (types.GeneratorType, lambda value: OPAQUE),
    (threading.local, of_local),
    (_random.Random, of_drawing),
    (weakref.ref, lambda value: OPAQUE),
    (BaseException, lambda value: lambda: Same(value.args)),
)


def random_state() -> tuple[Hashable, ...]:
    """The states of Python's own generator and of numpy's, if numpy's is imported."""
    loaded = [sys.modules.get(name) for name in ("random", "numpy.random")]
    return tuple([None if x is None else reader(x)() for x in loaded])


def reader(drawing: types.ModuleType) -> Callable[[], Hashable]:
    """The reader of a generator's state, of Python's or numpy's."""
    if hasattr(drawing, "getstate"):
        return drawing.getstate
    return lambda: stood_at(drawing.get_state())


def stood_at(state: Any) -> Hashable:
    """A generator's state in a comparable form; numpy's contains an array."""
    if isinstance(state, tuple):
        return (state[1].tobytes(), *state[2:])
    return np.asarray(state).tobytes()
