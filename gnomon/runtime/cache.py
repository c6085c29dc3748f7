"""Results on disk by the digest of everything that made them.

An entry is written beside its place and renamed, so that a reader sees all of it or nothing; it
carries its own digest, and one that does not match is as good as absent. What goes into a key is
the caller's business: see `digest`.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

FORMAT = b"gnomon-1"
DAY = 86_400
SWEEP_AFTER = 64 << 20
"""Bytes written by one process before it looks at the folder's size again."""


def digest(*parts: str | bytes) -> str:
    """A key: 64 hexadecimal digits over all parts and over where each one ends.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    total = hashlib.sha256()
    for part in parts:
        part = part.encode() if isinstance(part, str) else part
        total.update(len(part).to_bytes(8, "little"))
        total.update(part)
    return total.hexdigest()


def fingerprint(folder: Path) -> str:
    """A digest that changes when a source file below a folder does: by name, size and time."""
    rows = []
    for place, _, names in os.walk(folder):
        for path in (f"{place}/{name}" for name in names if name.endswith(".py")):
            state = os.stat(path)
            rows.append(f"{path[len(str(folder)) :]} {state.st_size} {state.st_mtime_ns}")
    return digest(*sorted(rows))


class Cache:
    """A folder of entries, held below `limit` bytes by dropping those unused for longest."""

    def __init__(self, folder: Path, limit: int = 2 << 30) -> None:
        self.folder, self.limit = Path(folder), limit
        self._written = 0
        self._warned = False

    def path(self, key: str) -> Path:
        """Where the entry of a key lies."""
        return self.folder / key[:2] / key[2:]

    def load(self, key: str) -> bytes | None:
        """The entry of a key; None when it is absent or was damaged."""
        path = self.path(key)
        try:
            entry = path.read_bytes()
            content = opened(entry)
            if content is not None:
                self._mark_used(path)
            return content
        except OSError:
            return None

    def store(self, key: str, content: bytes) -> None:
        """Publish an entry; a folder that cannot be written to is warned of once."""
        try:
            self._publish(self.path(key), seal(content) + content)
            self._written += len(content)
            self._sweep_sometimes()
        except OSError as cause:
            self._warn(cause)

    def _publish(self, path: Path, entry: bytes) -> None:
        """Write beside the place and rename into it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                # no fsync: a machine that stops leaves an entry whose digest does not match
                file.write(entry)
            os.replace(aside, path)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise

    def _mark_used(self, path: Path) -> None:
        """Note a use, at most once a day, so that sweeping spares it."""
        if time.time() - path.stat().st_mtime > DAY:
            with suppress(OSError):
                os.utime(path)

    def _sweep_sometimes(self) -> None:
        """Sweep when nobody has for a day, or when this process wrote much."""
        stamp = self.folder / "swept"
        swept = stamp.stat().st_mtime if stamp.exists() else 0.0
        if self._written > SWEEP_AFTER or time.time() - swept > DAY:
            self._written = 0
            stamp.touch()
            self.sweep()

    def sweep(self) -> None:
        """Drop the entries unused for longest until a fifth of the limit is free, if it is passed.

        Files left aside by a process that died are dropped after a day.
        """
        found = sorted(self._entries())
        total = sum(size for _, size, _ in found)
        goal = total if total <= self.limit else self.limit * 4 // 5
        for used, size, path in found:
            if path.name.startswith(".") and time.time() - used > DAY:
                path.unlink(missing_ok=True)
            elif total > goal:
                path.unlink(missing_ok=True)
                total -= size

    def _entries(self) -> list[tuple[float, int, Path]]:
        """When each file was last used, its size, its path."""
        found = []
        for path in self.folder.glob("??/*"):
            with suppress(OSError):
                state = path.stat()
                found.append((state.st_mtime, state.st_size, path))
        return found

    def _warn(self, cause: OSError) -> None:
        """Say once that nothing will be kept."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"cache: {self.folder} cannot be written to: {cause.strerror}. Compiled code is "
                "not kept; point GNOMON_CACHE_DIR at a folder of yours, or set GNOMON_CACHE=0.",
                stacklevel=2,
            )


def seal(content: bytes) -> bytes:
    """What stands before the content of an entry: the format, and the content's digest."""
    return FORMAT + hashlib.sha256(content).digest()


def opened(entry: bytes) -> bytes | None:
    """The content of an entry, or None when it is not what was sealed."""
    head = len(FORMAT) + hashlib.sha256().digest_size
    content = entry[head:]
    return content if entry[:head] == seal(content) else None
