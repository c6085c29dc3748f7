"""Python's collector of cycles, which waits while programs are built.

Each of its full rounds walks every node that lives, and building a deep program sets off dozens of
them to find nothing: graphs hold no cycles but a constant and its arena, and go when nobody refers
to them. Half of a compilation was spent so.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Generator[None]:
    """Look for no cycles meanwhile, in any thread; a program that never looks goes on so.

    >>> with uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
