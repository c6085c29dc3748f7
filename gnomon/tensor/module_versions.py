"""Whether any module, or what a parameter wants of gradients, has changed since somebody looked.

A compiled function depends on every plain attribute of the modules that it names. Looking at all of
them for each call would take longer than the call, so what may change them says so here:
assignments to modules, their tables of parameters, modules and hooks, and `requires_grad`. Writing
into a module's `__dict__` by hand goes unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import count
from typing import Any

_numbers = count(1)
_latest = 0


def latest() -> int:
    """A number that differs after every change of a module."""
    return _latest


def note() -> int:
    """Record a change. Numbers are drawn, not added, so that racing threads differ."""
    global _latest
    _latest = drawn = next(_numbers)
    return drawn


def noting(name: str) -> Callable[..., Any]:
    """A dictionary's method that also records a change."""
    method = getattr(dict, name)

    @wraps(method)
    def noted(self: dict, *given: Any, **named: Any) -> Any:
        try:
            return method(self, *given, **named)
        finally:
            note()

    return noted


class Watched(dict):
    """A dictionary that notes its changes.

    >>> before, kept = latest(), Watched(a=1)
    >>> kept["b"] = 2
    >>> latest() == before
    False
    """

    __slots__ = ()
    __setitem__, __delitem__, __ior__ = map(noting, ("__setitem__", "__delitem__", "__ior__"))
    clear, pop, popitem = map(noting, ("clear", "pop", "popitem"))
    setdefault, update = map(noting, ("setdefault", "update"))


everywhere: dict[int, Any] = Watched()
"""Hooks of all modules by their numbers (nn/hooked.py)."""


def tables_of(module: Any) -> tuple[dict[int, Callable], ...]:
    """The hook tables of all modules, and a module's own, by their numbers."""
    shared = {number: each.hook for number, each in everywhere.items()}
    before, after = module._forward_pre_hooks, module._forward_hooks
    return shared, before, after, module._backward_pre_hooks, module._backward_hooks
