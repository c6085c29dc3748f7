"""The calls that change a disk, one method each.

Files and checkpoints are written through one `Disk`, so that a test which counts calls, refuses
them or ends the process at one of them has seen all of them.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["Disk"]


class Disk:
    """The file operations of this machine, as system calls."""

    def open(self, path: Path, flags: int) -> int:
        """Open a file for writing; its descriptor."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o666)

    def write(self, handle: int, content: memoryview, offset: int) -> int:
        """Write at an offset; returns the number of bytes written."""
        return os.pwrite(handle, content, offset)

    def flush(self, handle: int) -> None:
        """Wait until written data are on disk."""
        os.fsync(handle)

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file or a folder, replacing a file of the new name."""
        os.replace(old, new)

    def make_folder(self, path: Path) -> None:
        """Create a folder."""
        os.mkdir(path)

    def remove_file(self, path: Path) -> None:
        """Remove a file or a link."""
        os.unlink(path)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        os.rmdir(path)
