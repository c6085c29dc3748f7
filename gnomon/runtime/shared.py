"""Memory that several processes have at once: without a name, and gone with the last that has it.

Whoever is sent its file maps it; nothing is left behind, whoever is killed.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from time import monotonic_ns
from typing import Any

__all__ = ["SharedMemory"]


LIBC = ctypes.CDLL(None, use_errno=True)
"""The system's library: Python's own mapping would hold a second file open."""
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
    ctypes.c_longlong,
)
LIBC.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


class SharedMemory:
    """The bytes of an open file, closed with this object.

    >>> mine = SharedMemory.new(4)
    >>> its = SharedMemory(os.dup(mine.file), 4)
    >>> _ = ctypes.memset(mine.address, 7, 4)
    >>> list(ctypes.string_at(its.address, 4)), its.key == mine.key
    ([7, 7, 7, 7], True)
    """

    def __init__(self, file: int, nbytes: int) -> None:
        self.file, self.nbytes, self.address = file, nbytes, 0
        found = os.fstat(file)
        self.key = (found.st_dev, found.st_ino)
        """Tells this memory from any other, in every process."""
        shared, may = mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE
        address = LIBC.mmap(None, max(nbytes, 1), may, shared, file, 0)
        if address == ctypes.c_void_p(-1).value:
            cause = os.strerror(ctypes.get_errno())
            raise MemoryError(f"share: no memory for {nbytes} bytes: {cause}.")
        self.address = address

    @classmethod
    def new(cls, nbytes: int) -> SharedMemory:
        """Shared memory of zeros, for this process and those that it is sent to."""
        file = os.memfd_create("gnomon") if hasattr(os, "memfd_create") else without_name()
        try:
            os.ftruncate(file, max(nbytes, 1))
        except OSError:
            os.close(file)
            raise
        return cls(file, nbytes)

    def __del__(self, unmap: Any = LIBC.munmap, close: Any = os.close) -> None:
        # names of this module may be gone when the interpreter ends: these are its own
        if self.address:
            unmap(self.address, max(self.nbytes, 1))
        close(self.file)


def without_name() -> int:
    """An open file without a name, which no other process can open."""
    path = f"/tmp/gnomon.{os.getpid()}.{monotonic_ns()}"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return file
