"""Memo tables: caches of results that can be computed again, all cleared by one call.

Tables of other kinds, of declarations, held objects or running work, are listed in
tests/ir/test_memo.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from threading import Lock
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

from gnomon.dtypes import DType
from gnomon.forking import held
from gnomon.lazy import Lazy

hashlib = Lazy("hashlib")

__all__ = ["Keyed", "Recent", "age", "clear", "digest", "exact", "kind_of", "memo", "typed"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

_PLAIN = (str, DType, type(None))
_EXACT: set[type] = {int, *_PLAIN}
"""Classes whose values are keys as they are."""
_clears: list[Callable[[], object]] = []


def memo(table: T) -> T:
    """Register a table: a container, or a function that remembers its results.

    >>> squares = memo({3: 9})
    >>> clear()
    >>> squares
    {}
    """
    known: Any = table
    _clears.append(known.cache_clear if hasattr(known, "cache_clear") else known.clear)
    return table


def clear() -> None:
    """Clear all memo tables, as in a new process; nothing may be built meanwhile."""
    for empty in _clears:
        empty()


class Keyed:
    """Base of values that `key` represents in keys of tables, which may outlive their program."""

    __slots__ = ()
    key: Any
    """The representation in keys: equal values have equal keys, and no others."""
    tag: ClassVar[str] = ""
    """A prefix of the key, where the key alone might be another value's."""


def exact(kind: type[T]) -> type[T]:
    """Declare that values of a class are keys as they are: equal only to values of that class."""
    _EXACT.add(kind)
    return kind


def typed(value: Any) -> Any:
    """A parameter as a key, in which 1, True and 1.0 differ, and so do 0.0 and -0.0."""
    kind = value.__class__
    if kind is int or kind is str:
        return value if type(value) is kind else getattr(value, "key", value)
    if kind is tuple:
        if _EXACT.issuperset(map(type, value)):
            return value
        return tuple([typed(part) for part in value])
    if kind in _EXACT or isinstance(value, _PLAIN):
        return value
    if isinstance(value, float):
        return ("float", value.hex())
    if issubclass(kind, tuple):  # one with names is not what holds the same without
        return (*((kind,) if hasattr(value, "_fields") else ()), *[typed(part) for part in value])
    if issubclass(kind, Keyed):
        return (kind.tag, value.key) if kind.tag else value.key
    return (kind, value)


def digest(value: object) -> str:
    """A short content hash of nested tuples; graphs inside count by their own keys."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]


MOST_KINDS = 1 << 16
"""The number of kinds after which those that were not used meanwhile are dropped."""
_KINDS: dict[tuple[Any, ...], int] = {}
_OLD_KINDS: dict[tuple[Any, ...], int] = {}
"""Kinds of the previous generation, not used since."""
_next_kind = count()
_kinds_change = held(Lock())


def kind_of(op: str, params: dict[str, Any]) -> int:
    """The number of an operation with its parameters; a serial makes no difference."""
    if len(params) == 1 and "serial" not in params:
        ((name, value),) = params.items()
        key = (op, name, value) if type(value) is str else (op, name, typed(value))
    else:
        key = (op, *[(name, typed(params[name])) for name in in_order(tuple(params))])
    found = _KINDS.get(key)
    return numbered(key) if found is None else found


def numbered(key: tuple[Any, ...]) -> int:
    """Number a kind that is new, or was not used lately; numbers are never given twice.

    Otherwise a program that computes with another constant in each step would fill memory.
    """
    with _kinds_change:
        if len(_KINDS) >= MOST_KINDS:
            _OLD_KINDS.clear()
            _OLD_KINDS.update(_KINDS)
            _KINDS.clear()
        found = _OLD_KINDS.get(key)
        return _KINDS.setdefault(key, next(_next_kind) if found is None else found)


@memo
@cache
def in_order(names: tuple[str, ...]) -> list[str]:
    """The names of parameters in a fixed order, without the serial."""
    return sorted(name for name in names if name != "serial")


class Recent(Generic[K, V]):
    """A cache of recently used entries: at most twice `most`.

    An entry is dropped if it is not used while `most` others are added or used.

    >>> squares = Recent()
    >>> squares.most = 2
    >>> for x in range(5):
    ...     squares[x] = x * x
    >>> squares.get(0), squares.get(4), len(squares)
    (None, 16, 3)
    """

    most = 2048
    """The number of entries added or used after which unused ones are dropped."""

    def __init__(self) -> None:
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}
        _recent.add(self)

    def get(self, key: K) -> V | None:
        """An entry or None; an entry that is found counts as used."""
        found = self._new.get(key)
        if found is None and self._old:
            found = self._old.pop(key, None)
            if found is not None:
                self[key] = found
        return found

    def found(self, key: K, make: Callable[[], V]) -> V:
        """The entry of a key, which `make` creates if there is none."""
        found = self.get(key)
        if found is None:
            found = self[key] = make()
        return found

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._new) >= self.most:
            self.age()
        self._new[key] = value

    def __contains__(self, key: K) -> bool:
        return key in self._new or key in self._old

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def values(self) -> list[V]:
        """All entries, old ones first."""
        return [*self._old.values(), *self._new.values()]

    def age(self) -> None:
        """Drop the old generation; the new one becomes old."""
        self._old, self._new = self._new, {}

    def clear(self) -> None:
        """Drop all entries."""
        self._old, self._new = {}, {}


_recent: WeakSet[Recent[Any, Any]] = WeakSet()


def age() -> None:
    """Drop the entries of all caches that were not used since the last call."""
    for table in list(_recent):
        table.age()
