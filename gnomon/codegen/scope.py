"""What holds for the programs that a thread builds now, and for no other thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import perf_counter
from typing import Generic, TypeVar

__all__ = ["Moments", "Scoped", "budget", "lasting", "moments", "sizes_vary"]

T = TypeVar("T")


class Scoped(threading.local, Generic[T]):
    """A value of each thread's own.

    >>> level = Scoped(0)
    >>> with level.set(3):
    ...     level.value
    3
    >>> level.value
    0
    """

    def __init__(self, value: T) -> None:
        self.value = value

    @contextmanager
    def set(self, value: T) -> Iterator[None]:
        """Another value inside a `with`."""
        before, self.value = self.value, value
        try:
            yield
        finally:
            self.value = before


class Moments:
    """When something may be measured: at once, where nothing else runs."""

    def clock(self) -> float:
        """The time, without what was spent waiting for a moment."""
        return perf_counter()

    def turn(self) -> AbstractContextManager[None]:
        """A moment for one turn of all candidates."""
        return nullcontext()


budget = Scoped(0.0)
"""The seconds that a program may spend on measuring products; 0 leaves all to the model."""

sizes_vary = Scoped(False)
"""Whether kernels that are written may serve other sizes too."""

lasting: Scoped[tuple[int, ...]] = Scoped(())
"""Inputs of a program, by number, that products may keep in panels from one run to the next."""

moments = Scoped(Moments())
"""When a program that is being built may be measured."""
