"""A lock on a run's folder, so that only one trainer uses it, and it is not moved meanwhile.

The system releases the lock when its process ends, however that ends. Leftovers of a killed process
are removed by the next one.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from gnomon.errors import CheckpointError, ConfigError
from gnomon.lazy import Lazy
from gnomon.runtime.files import naming

__all__ = ["ASIDE", "LOCK", "Lock"]

fcntl = Lazy("fcntl")  # Windows has none, which is reported elsewhere

LOCK = "lock"
ASIDE = re.compile(r"\..+\.[0-9a-f]{32}")
"""The pattern of the names of incomplete files and folders."""


class Lock:
    """An exclusive lock on a run's folder, until it is released or its process ends."""

    def __init__(self, run: Path) -> None:
        self.run, self.path = run, run / LOCK
        with naming(self.path):
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self.handle = os.open(self.path, flags, 0o644)
            try:
                fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(self.handle, 20, 0).decode(errors="replace").strip()
                self.release()
                raise ConfigError(
                    f"train: {run} is in use by process {holder or 'of somebody'}. Wait until it "
                    "ends, or name another folder: --set run.dir=PATH."
                ) from None
            os.ftruncate(self.handle, 0)
            os.pwrite(self.handle, f"{os.getpid()}\n".encode(), 0)
        self.sweep()

    def sweep(self) -> None:
        """Delete temporary files of an earlier process that was killed."""
        for folder in (self.run, self.run / "checkpoints"):
            for path in folder.glob(".*"):
                if ASIDE.fullmatch(path.name):
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path, ignore_errors=True)
                    else:
                        path.unlink(missing_ok=True)

    def check(self) -> None:
        """Raise an error if the folder is no longer the locked one."""
        try:
            same = os.path.samestat(os.stat(self.path), os.fstat(self.handle))
        except (FileNotFoundError, NotADirectoryError):
            same = False
        if not same:
            raise CheckpointError(
                f"train: {self.run} was deleted or moved while it was being trained in, so nothing "
                "more can be kept there. Start again, or continue where it is: --resume --set "
                "run.dir=PATH."
            )

    def release(self) -> None:
        """Release the folder to other processes."""
        handle, self.handle = getattr(self, "handle", -1), -1
        if handle >= 0:
            os.close(handle)

    __del__ = release
