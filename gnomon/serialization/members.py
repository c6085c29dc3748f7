"""Members of an uncompressed zip, read or mapped into memory."""

from __future__ import annotations

import mmap
import os
import struct
import zipfile
from typing import BinaryIO

import numpy as np

__all__ = ["Members", "check_truths"]

HEADER = struct.Struct("<26xHH")
"""The end of a member's header: the lengths of its name and of its extra field."""


def check_truths(name: str, content: np.ndarray) -> None:
    """Raise ValueError if a bool array has bytes other than 0 and 1."""
    if content.max(initial=0) > 1:
        raise ValueError(f"{name} has truths other than 0 and 1")


class Members:
    """A zip file that is being read."""

    def __init__(self, file: BinaryIO, mapped: bool = False) -> None:
        self.archive = zipfile.ZipFile(file)
        self.names = frozenset(self.archive.namelist())
        self.left: int = file.seek(0, os.SEEK_END)
        """The bytes that further members may have, since members must not overlap."""
        self.pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) if mapped else None

    def entry(self, name: str) -> zipfile.ZipInfo:
        """A member's record; its size is subtracted from the bytes left."""
        entry = self.archive.getinfo(name)
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise ValueError(f"{name} is compressed")
        self.left -= entry.file_size
        if self.left < 0:
            raise ValueError("its members have more bytes than the file")
        return entry

    def read(self, name: str) -> bytes:
        """The bytes of a member."""
        return self.archive.read(self.entry(name))

    def array(self, name: str) -> np.ndarray:
        """The bytes of a member as a writable array; with mmap, writes do not reach the file."""
        if self.pages is None:
            return np.frombuffer(bytearray(self.read(name)), np.uint8)
        entry = self.entry(name)
        start = entry.header_offset + HEADER.size
        start += sum(HEADER.unpack(self.pages[entry.header_offset : start]))
        return np.frombuffer(self.pages, np.uint8, entry.file_size, start)
