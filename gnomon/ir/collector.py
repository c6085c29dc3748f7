"""Pause Python's cycle collector while graphs are built, since nodes are in no cycles.

A program of thousands of nodes consists of some hundred thousand long-lived objects; visiting them
again and again took a quarter of the time of building them.
"""

from __future__ import annotations

import gc
import os
import threading

from gnomon.forking import held
from gnomon.settings import Block

__all__ = ["paused"]


class Pauses:
    """The running pauses of all threads: the first stops the collector, the last restarts it."""

    def __init__(self) -> None:
        self.lock = held(threading.Lock())
        self.under_way: set[int] = set()
        self.ran_before = False

    def begin(self, pause: int) -> None:
        """Register a pause; the first one records whether the collector was enabled."""
        with self.lock:
            if not self.under_way:
                self.ran_before = gc.isenabled()
            self.under_way.add(pause)
            gc.disable()

    def end(self, pause: int) -> None:
        """Unregister a pause, if it has not ended before; the last one restarts collecting."""
        with self.lock:
            if self.under_way == {pause} and self.ran_before:
                gc.enable()
            self.under_way.discard(pause)

    def forget(self) -> None:
        """Drop all pauses after a fork: the child does not have the threads that made them."""
        if self.under_way and self.ran_before:
            gc.enable()
        self.under_way.clear()


class paused(Block):
    """A context in which Python's cycle collector does not run.

    >>> with paused():
    ...     print(gc.isenabled())
    False
    """

    pauses = Pauses()
    """The pauses of all threads, an attribute of the class: when the interpreter ends, `__del__`
    may run after the module's globals were cleared."""

    def __enter__(self) -> None:
        try:
            self.pauses.begin(id(self))
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """End the pause; the collector runs again if it was the last one."""
        self.pauses.end(id(self))

    def __del__(self) -> None:
        if id(self) in self.pauses.under_way:  # Ctrl-C came before `with` could leave it
            self.leave()


os.register_at_fork(after_in_child=paused.pauses.forget)
