"""The debug dial's one way out: a line or a page on standard error, if the dial asks for it.

What each level prints is told in docs/debugging.md. Whoever has something to print builds its text
in a function, which is called only when it will be shown. On a terminal, what makes people wait is
told whatever the dial says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Timer
from time import perf_counter

from gnomon.settings import current

__all__ = ["log", "since", "waited_for"]

PATIENCE = 0.5
"""Seconds after which somebody at a terminal wants to know what goes on."""


def log(level: int, text: Callable[[], str], name: str = "") -> None:
    """Print a text if the dial is at this level or above, and the name is one asked for.

    Without a name it belongs to the whole program, and is printed whatever `debug_only` says.
    """
    settings = current()
    if settings.debug >= level and (not name or settings.debug_only in name):
        print(text(), file=sys.stderr, flush=True)


def since(start: float) -> str:
    """The time that something took, as the end of a line."""
    return f", {1e3 * (perf_counter() - start):.3g} ms"


@contextmanager
def waited_for(text: Callable[[], str]) -> Generator[None]:
    """Say on a terminal what is being done, once it takes long, and then how long it took."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    said: list[str] = []
    start = perf_counter()

    def say() -> None:
        said.append(text())
        print(said[0], end=" ... ", file=sys.stderr, flush=True)

    timer = Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said:
            print(f"{perf_counter() - start:.1f} s", file=sys.stderr, flush=True)
