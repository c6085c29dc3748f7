"""Counters of the whole process, read once earlier tests' garbage is gone.

Not a test. Python collects cycles when it likes: between two readings it would free what others
left behind.
"""

from __future__ import annotations

import gc

from gnomon.runtime.buffer import MemoryUse, memory

__all__ = ["settled"]


def settled() -> MemoryUse:
    """The memory in use, after a collection."""
    gc.collect()
    return memory.use()
