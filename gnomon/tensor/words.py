"""Which attributes and globals code reads, and which classes are a user's own.

Where the names lead to values is in surroundings.py.
"""

from __future__ import annotations

import dis
import sys
import types
from functools import cache
from typing import NamedTuple

__all__ = ["KNOWN", "Words", "has_attributes", "is_known", "users_among", "words_of"]

PACKAGE_NAME = __name__.split(".")[0]
NAMESPACES = ("Namespace", "SimpleNamespace")
"""Python's own classes that hold a user's options."""
KNOWN = frozenset({*sys.stdlib_module_names, PACKAGE_NAME, "numpy"})
"""Packages that change nothing behind a function's back."""


class Words(NamedTuple):
    """Names in code: attributes with the name before their dot, None for any value; globals."""

    pairs: frozenset[tuple[str | None, str]]
    names: frozenset[str]


def words_of(code: types.CodeType) -> Words:
    """The names in code, and in what is defined inside of it."""
    return within(code, (*code.co_freevars, "self"))


@cache
def within(code: types.CodeType, free: tuple[str, ...]) -> Words:
    """The same, given the names that are called so outside of all of it; other locals are any."""
    pairs: set[tuple[str | None, str]] = set()
    names: set[str] = set()
    before: str | None = None
    for step in dis.get_instructions(code):
        kind, name = step.opname, step.argval
        if kind in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            pairs.add((before, name))
            before = name
        elif "LOAD_FAST" in kind:
            name = name[-1] if isinstance(name, tuple) else name
            before = name if name == "self" else None
        elif kind in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            before = name if name in free else None
        elif kind in ("LOAD_GLOBAL", "LOAD_NAME"):
            names.add(name)
            before = name
        elif kind not in ("CACHE", "NOP", "PUSH_NULL"):
            before = None
    if "getattr" in names or "hasattr" in names:
        pairs |= {(None, x) for x in code.co_consts if isinstance(x, str) and x.isidentifier()}
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            found = within(inner, free)
            pairs, names = pairs | found.pairs, names | found.names
    return Words(frozenset(pairs), frozenset(names))


@cache
def is_known(kind: type) -> bool:
    """Whether a class is not the user's own."""
    return kind.__module__.split(".")[0] in KNOWN and kind.__name__ not in NAMESPACES


@cache
def has_attributes(kind: type) -> bool:
    """Whether what objects of a class hold may be a user's: no container, and not Python's own."""
    ours = kind.__module__.split(".")[0] == PACKAGE_NAME
    return not issubclass(kind, (type, dict, list, tuple, set)) and (ours or not is_known(kind))


@cache
def users_among(kind: type) -> tuple[type, ...]:
    """A class and those that it derives from, as far as they are the user's own."""
    return tuple([base for base in kind.__mro__ if not is_known(base)])
