"""The debug dial's one way out: a line or a page on standard error, if the dial asks for it.

What each level prints is told in docs/debugging.md. Whoever has something to print builds its text
in a function, which is called only when it will be shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from gnomon.settings import current

__all__ = ["log"]


def log(level: int, text: Callable[[], str], name: str = "") -> None:
    """Print a text if the dial is at this level or above, and the name is one asked for.

    Without a name it belongs to the whole program, and is printed whatever `debug_only` says.
    """
    settings = current()
    if settings.debug >= level and (not name or settings.debug_only in name):
        print(text(), file=sys.stderr, flush=True)
