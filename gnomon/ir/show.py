"""Debug output: a line or a page on standard error, if the verbosity level asks for it.

docs/debugging.md describes the output of each level. Callers pass a function that builds the text,
which is called only if the text is shown. On a terminal, progress of slow work is shown at every
level.
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
"""Seconds after which slow work is reported on a terminal."""


def log(level: int, text: Callable[[], str], name: str = "") -> None:
    """Print a text if the debug level is at least this, and `debug_only` selects the name.

    A message without a name belongs to the whole program, and is printed whatever `debug_only`
    says.
    """
    settings = current()
    if settings.debug >= level and (not name or settings.debug_only in name):
        print(text(), file=sys.stderr, flush=True)


def since(start: float) -> str:
    """The time since `start` as text, for the end of a line."""
    return f", {1e3 * (perf_counter() - start):.3g} ms"


@contextmanager
def waited_for(text: Callable[[], str]) -> Generator[None]:
    """Report slow work on a terminal once it takes long, and its duration at the end."""
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
