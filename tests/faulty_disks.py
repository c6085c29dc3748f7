"""Disks that count what is written through them, refuse it, or end the process at it. Not tests."""

from __future__ import annotations

import errno
import os
import signal
import threading
from pathlib import Path

from gnomon.runtime.disk import Disk


class WatchedDisk(Disk):
    """A disk that tells of each call before it is made, one at a time."""

    def __init__(self) -> None:
        self.calls = 0
        self.names: list[str] = []
        self.lock = threading.RLock()

    def meet(
        self, name: str, where: object, content: memoryview | None = None, at: int = 0
    ) -> None:
        """What happens before a call: it is counted."""
        self.calls += 1
        self.names.append(name)

    def open(self, path: Path, flags: int) -> int:
        with self.lock:
            self.meet("open", path)
            return super().open(path, flags)

    def write(self, handle: int, content: memoryview, offset: int) -> int:
        with self.lock:
            self.meet("write", handle, content, offset)
            return super().write(handle, content, offset)

    def flush(self, handle: int) -> None:
        with self.lock:
            self.meet("flush", handle)
            super().flush(handle)

    def rename(self, old: Path, new: Path) -> None:
        with self.lock:
            self.meet("rename", (old, new))
            super().rename(old, new)

    def make_folder(self, path: Path) -> None:
        with self.lock:
            self.meet("make_folder", path)
            super().make_folder(path)

    def remove_file(self, path: Path) -> None:
        with self.lock:
            self.meet("remove_file", path)
            super().remove_file(path)

    def remove_folder(self, path: Path) -> None:
        with self.lock:
            self.meet("remove_folder", path)
            super().remove_folder(path)


class KillingDisk(WatchedDisk):
    """A disk at whose call of a number the process is killed; half of what it writes is written."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def meet(
        self, name: str, where: object, content: memoryview | None = None, at: int = 0
    ) -> None:
        if self.calls == self.at:
            if content is not None:
                os.pwrite(where, content[: len(content) // 2], at)
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()
        super().meet(name, where, content, at)


class FullDisk(WatchedDisk):
    """A disk that is full from the call of a number on, for so many calls that take memory."""

    TAKING = ("open", "write", "flush", "make_folder", "rename")

    def __init__(self, first: int, calls: int = 1) -> None:
        super().__init__()
        self.first, self.left = first, calls

    def meet(
        self, name: str, where: object, content: memoryview | None = None, at: int = 0
    ) -> None:
        super().meet(name, where, content, at)
        if self.calls > self.first and self.left and name in self.TAKING:
            self.left -= 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
