"""Results on disk by the digest of everything that made them.

An entry is written beside its place and renamed, so that a reader sees all of it or nothing; it
carries a digest of its key and its content, and one that does not match is as good as absent. Since
machine code is run as the file holds it, nothing is read that another user could have written. What
goes into a key is the caller's business: see `digest`.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

from gnomon.ir.memo import memo
from gnomon.lazy import Lazy
from gnomon.runtime.files import plain
from gnomon.settings import Settings

fcntl = Lazy("fcntl")  # Windows has none

FORMAT = b"gnomon-2"
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


@cache
def own_sources() -> str:
    """The hash of this package's sources, on which machine code and plans depend."""
    return fingerprint(Path(__file__).parent.parent)


class Cache:
    """A folder of cache entries; beyond `limit` bytes those unused for longest are dropped.

    kind: the part of the folder that is meant.
    """

    def __init__(self, root: Path, kind: str = "", limit: int = 2 << 30) -> None:
        self.root, self.folder, self.limit = Path(root), Path(root) / kind, limit
        self._written = 0
        self._claims: int | None = None
        """The file whose bytes stand for keys: a locked byte is a claim."""

    def path(self, key: str) -> Path:
        """The path of a key's entry."""
        return self.folder / key[:2] / key[2:]

    def load(self, key: str) -> bytes | None:
        """The entry of a key; None if it is absent, damaged, or may be another user's."""
        try:
            if not self._is_ours():
                return None
            with plain(self.path(key), os.O_NOFOLLOW) as file:
                state = os.fstat(file.fileno())
                if self._refuses(self.path(key), state):
                    return None
                head = file.read(HEAD)
                if not fits(head, state.st_size):
                    return None
                content = file.read()
                if head != seal(key, content):
                    return None
                if time.time() - state.st_mtime > DAY:
                    # noted at most once a day, so that sweeping spares it
                    with suppress(OSError):
                        os.utime(file.fileno())
                return content
        except OSError:
            return None

    def store(self, key: str, content: bytes) -> None:
        """Write an entry; a folder that cannot be written to is warned of once."""
        try:
            if not self._is_ours():
                return
            self._publish(self.path(key), seal(key, content) + content)
            self._written += len(content)
            self._sweep_sometimes()
        except OSError as cause:
            self._say(
                f"{self.folder} cannot be written to: {cause.strerror}. Compiled code is not kept; "
                "point GNOMON_CACHE_DIR at a folder of yours, or set GNOMON_CACHE=0."
            )

    def claim(self, key: str) -> bool:
        """Lock an entry for this process to make; False if another process makes it.

        A claim ends when the process releases it or ends. Threads of one process coordinate by
        themselves.
        """
        try:
            if self._claims is None:
                if not self._is_ours():
                    return True
                self._make_folders()
                self._claims = os.open(self.folder / "claims", os.O_RDWR | os.O_CREAT, 0o600)
                os.register_at_fork(after_in_child=self._forget)
            fcntl.lockf(self._claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place_of(key))
        except (BlockingIOError, PermissionError):
            return False
        except OSError:
            # no claims on this disk: all make what they need
            return True
        return True

    def let_go(self, key: str) -> None:
        """Release the claim on an entry, so that other processes may make it."""
        if self._claims is not None:
            with suppress(OSError):
                fcntl.lockf(self._claims, fcntl.LOCK_UN, 1, place_of(key))

    def _forget(self) -> None:
        """Drop the parent's claims, after a fork."""
        self._claims = None

    def _is_ours(self) -> bool:
        """Whether the folder is writable for this user alone, or does not exist yet."""
        for folder in (self.root, self.folder):
            try:
                state = os.lstat(folder)
                if self._refuses(folder, state):
                    return False
                if stat.S_ISLNK(state.st_mode) and self._refuses(folder, os.stat(folder)):
                    return False
            except FileNotFoundError:
                continue
        return True

    def _refuses(self, path: Path, state: os.stat_result) -> bool:
        """Whether another user could have written this file; warned of once."""
        why = doubt(state)
        if why:
            self._say(
                f"{path} {why}, so nothing there is used: machine code must come from you alone. "
                f"Delete {self.root}, or point GNOMON_CACHE_DIR at a folder of yours."
            )
        return bool(why)

    def _publish(self, path: Path, entry: bytes) -> None:
        """Write an entry beside its path and rename it into place."""
        self._make_folders()
        path.parent.mkdir(0o700, exist_ok=True)
        descriptor, aside = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                # no fsync: a machine that stops leaves an entry whose digest does not match
                file.write(entry)
            os.replace(aside, path)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise

    def _make_folders(self) -> None:
        """Create the cache's folders, writable for this user alone."""
        self.root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (self.root, self.folder):
            folder.mkdir(0o700, exist_ok=True)

    def _sweep_sometimes(self) -> None:
        """Sweep if no process has for a day, or if this process wrote much."""
        stamp = self.folder / "swept"
        swept = stamp.stat().st_mtime if stamp.exists() else 0.0
        if self._written > SWEEP_AFTER or time.time() - swept > DAY:
            self._written = 0
            stamp.touch()
            self.sweep()

    def sweep(self) -> None:
        """Drop the entries unused for longest until a fifth of the limit is free, if exceeded.

        Temporary files of a process that died are dropped after a day.
        """
        found = sorted(self._entries())
        total = sum(size for _, size, _ in found)
        goal = total if total <= self.limit else self.limit * 4 // 5
        for used, size, path in found:
            aside = path.name.startswith(".") and time.time() - used > DAY
            if aside or total > goal:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                    total -= 0 if aside else size

    def _entries(self) -> list[tuple[float, int, Path]]:
        """List the entries: the time of the last use, the size and the path of each file."""
        found = []
        for path in self.folder.glob("??/*"):
            with suppress(OSError):
                state = path.lstat()
                if not stat.S_ISDIR(state.st_mode):
                    found.append((state.st_mtime, state.st_size, path))
        return found

    def _say(self, what: str) -> None:
        """Warn once per folder why it is not used."""
        if self.root not in _said:
            _said.add(self.root)
            warnings.warn(f"cache: {what}", stacklevel=2)


_said: set[Path] = set()
"""The folders of which something was said."""


@memo
@cache
def shelf(root: Path, kind: str) -> Cache:
    """The part of a cache for one kind of entries."""
    return Cache(root, kind)


def cache_of(settings: Settings, kind: str) -> Cache | None:
    """The part of the cache in the settings' folder for one kind of entries."""
    return shelf(settings.path_of_cache(), kind) if settings.cache else None


def doubt(state: os.stat_result) -> str:
    """The reason why a file or folder may be another user's; empty if it is the user's."""
    if state.st_uid not in (os.geteuid(), 0):
        return f"belongs to user {state.st_uid}"
    if stat.S_ISLNK(state.st_mode):
        return ""
    return f"can be written to by others (mode {state.st_mode & 0o777:o})" * bool(
        state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def place_of(key: str) -> int:
    """The byte of a lock file that stands for a key; keys that share one exclude each other."""
    return int(key[:8], 16)


DIGEST = hashlib.sha256().digest_size
LENGTH = 8
HEAD = len(FORMAT) + LENGTH + DIGEST


def seal(key: str, content: bytes) -> bytes:
    """The header of an entry: the format, its length, a digest with its key."""
    total = hashlib.sha256(f"{key}\0".encode())
    total.update(content)
    return FORMAT + len(content).to_bytes(LENGTH, "little") + total.digest()


def fits(head: bytes, size: int) -> bool:
    """Whether a file's size is the one that its header states."""
    length = int.from_bytes(head[len(FORMAT) : len(FORMAT) + LENGTH], "little")
    return len(head) == HEAD and size == HEAD + length
