"""Locks that a fork waits for, so that a child finds nothing half done by a thread it has not got.

A child has a copy of all memory but only the thread that forked: what another thread held stays
held for ever. Locks of short work are named here and taken before each fork, all or none, since
threads take them in any order. Locks of long work are made anew in the child, where they stand.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

__all__ = ["cached_property", "held"]

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds that a fork waits; a child of an impatient one may find a lock that nobody gives back."""

_locks: list[Any] = []
_taken: list[Any] = []


def held(lock: Any) -> Any:
    """A lock that is free, or the forking thread's own, whenever this process forks."""
    _locks.append(lock)
    return lock


class cached_property(Generic[T]):
    """A property that is computed once, or once by each of several threads that come together.

    Python's own holds a lock until 3.11, one for all objects of a class.
    """

    def __init__(self, func: Callable[[Any], T]) -> None:
        self.func, self.__doc__ = func, func.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> Self: ...

    @overload
    def __get__(self, owner: object, kind: type | None = None) -> T: ...

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        if owner is None:
            return self
        made = owner.__dict__[self.name] = self.func(owner)
        return made


def take_all() -> None:
    """Before a fork: take every lock, trying again while another thread has one of them."""
    end = time.monotonic() + PATIENCE
    while not all(map(taken, _locks)) and time.monotonic() < end:
        give_all()
        time.sleep(0.001)


def taken(lock: Any) -> bool:
    """Whether a lock could be taken."""
    got = lock.acquire(blocking=False)
    if got:
        _taken.append(lock)
    return got


def give_all() -> None:
    """Give all locks back: after a fork, in parent and child."""
    while _taken:
        _taken.pop().release()


os.register_at_fork(before=take_all, after_in_parent=give_all, after_in_child=give_all)
