"""The collector of cycles rests while graphs are made: nodes lie in none, it would only walk them.

A program of thousands of nodes is some hundred thousand objects that stay; looking through them
again and again took a quarter of the time of making them.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager

from gnomon.forking import held

__all__ = ["paused"]


class Pauses:
    """The pauses under way, of all threads: the first stops the collector, the last starts it."""

    def __init__(self) -> None:
        self.lock = held(threading.Lock())
        self.count, self.ran_before = 0, False

    def begin(self) -> None:
        """One more; the first sees whether anybody else has stopped the collector."""
        with self.lock:
            if not self.count:
                self.ran_before = gc.isenabled()
                gc.disable()
            self.count += 1

    def end(self) -> None:
        """One less; none is left of a pause that was under way at a fork."""
        with self.lock:
            if self.count == 1 and self.ran_before:
                gc.enable()
            self.count = max(self.count - 1, 0)

    def forget(self) -> None:
        """In a child of a fork: whoever paused is a thread that the child has not got."""
        if self.count and self.ran_before:
            gc.enable()
        self.count = 0


_pauses = Pauses()
os.register_at_fork(after_in_child=_pauses.forget)


@contextmanager
def paused() -> Generator[None]:
    """Look for no cycles until the end, nor while another thread's pause lasts.

    >>> with paused():
    ...     print(gc.isenabled())
    False
    """
    _pauses.begin()
    try:
        yield
    finally:
        _pauses.end()
