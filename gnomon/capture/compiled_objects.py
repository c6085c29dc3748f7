"""The objects that are compiled: which cannot be, and what stands for one that is.

What runs in steps is no program: generators, coroutines, what gives them.
"""

from __future__ import annotations

import functools
from typing import Any

from gnomon.errors import TraceError
from gnomon.ir.provenance import user_site
from gnomon.lazy import guards

__all__ = ["CompiledObject", "IN_STEPS", "check_result", "suspends"]

SUSPENDS = 0x20 | 0x80 | 0x200
"""Flags of the code of generators, coroutines, and what is both."""

IN_STEPS = (
    "which runs in steps, and a program runs at once. Compile the function that is called in each "
    "step, or give a list."
)


def suspends(function: Any) -> bool:
    """Whether a call only begins: of a generator, a coroutine, or an object whose call is one."""
    while isinstance(function, functools.partial):
        function = function.func
    calls = (function, type(function).__call__, getattr(function, "forward", None))
    flags = [getattr(getattr(call, "__code__", None), "co_flags", 0) for call in calls]
    return any(flag & SUSPENDS for flag in flags)


def check_result(name: str, tree: Any, site: Any = "") -> None:
    """Refuse a result that runs later, or once: its tensors are known while it is captured only."""
    for value in guards.objects_in(tree):
        if any(hasattr(type(value), step) for step in ("__next__", "__await__", "__anext__")):
            told = f"compile: {name} gives a {type(value).__name__}, {IN_STEPS}"
            raise TraceError(f"{told}   [{site or user_site()}]")


class CompiledObject:
    """The object that stands for a function or a module: it has all that those have."""

    function: Any
    name: str
    options: Any
    breaks: bool
    programs: Any

    @property
    def __class__(self) -> type:
        """Its class for isinstance(): a compiled module is a module."""
        kind = type(self.function)
        return kind if hasattr(kind, "register_forward_hook") else type(self)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        settings = self.name, self.options, self.breaks
        return type(self), (self.function, *settings)

    def __repr__(self) -> str:
        return f"compile({self.function!r})"

    def __setattr__(self, name: str, value: Any) -> None:
        own = vars(self)
        is_own = name in own or "recompiled" not in own or self.__class__ is type(self)
        object.__setattr__(self, name, value) if is_own else setattr(self.function, name, value)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        return self if owner is None else functools.partial(self, owner)

    def __getattr__(self, name: str) -> Any:
        if name in ("function", "programs"):
            raise AttributeError(name)
        return getattr(self.function, name)
