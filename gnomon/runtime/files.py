"""Writing so that a reader never sees half: aside, flushed to the disk, renamed.

Folders are published the same way. What is written is the callers' business. Reading takes plain
files alone, and what cannot be read or written is an OSError that names its file.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from gnomon.runtime.disk import Disk

__all__ = [
    "LARGEST_TEXT",
    "LARGEST_WRITE",
    "NOT_JSON",
    "flush_folder",
    "make_folder",
    "naming",
    "opened",
    "plain",
    "publish",
    "read",
    "remove_folder",
    "rename",
    "write",
    "write_at",
]

disk = Disk()
"""Everything below is written through it."""

LARGEST_TEXT = 256 << 20
"""Bytes of a description that is read whole: a larger one is none."""
LARGEST_WRITE = 8 << 20
"""Bytes that are handed to the system at a time: between two, a writer can be stopped."""
NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
"""Exceptions of decoding a text that is no JSON, or JSON of another structure than wanted."""


@contextmanager
def plain(path: Path, flags: int = 0) -> Iterator[BinaryIO]:
    """Open a regular file for reading; a pipe would block."""
    with naming(path):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
        except ValueError as wrong:  # a name that no file can have
            raise OSError(errno.EINVAL, str(wrong), str(path)) from wrong
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "not a plain file", str(path))
            with os.fdopen(handle, "rb", closefd=False) as file:
                yield file
        finally:
            os.close(handle)


def read(path: Path, most: int | None = None) -> bytes:
    """The bytes of a regular file of at most `most` bytes."""
    with plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise OSError(errno.EFBIG, f"{size:,} bytes are too many", str(path))
        return file.read()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """A context whose errors become OSErrors that name the file, as a full disk's do not."""
    try:
        yield
    except OSError as wrong:
        if isinstance(wrong.filename, str | os.PathLike):
            raise
        raise OSError(wrong.errno, wrong.strerror or str(wrong), str(path)) from wrong


def write(path: Path, content: bytes | Iterable[bytes | bytearray]) -> None:
    """Write a file, whole or in pieces, and wait for the disk; for files that nobody reads yet."""
    place = 0
    with opened(path, os.O_TRUNC) as handle:
        for part in [content] if isinstance(content, bytes) else content:
            place = write_at(handle, memoryview(part), place)


@contextmanager
def opened(path: Path, flags: int = 0) -> Iterator[int]:
    """A context with the descriptor of a file to write, which is flushed at its end."""
    with naming(path):
        handle = disk.open(path, flags)
        try:
            yield handle
            disk.flush(handle)
        finally:
            os.close(handle)


def write_at(handle: int, content: memoryview, offset: int) -> int:
    """Write bytes at an offset; returns the offset of their end."""
    for start in range(0, len(content), LARGEST_WRITE):
        part = content[start : start + LARGEST_WRITE]
        while part:
            taken = disk.write(handle, part, offset)
            part, offset = part[taken:], offset + taken
    return offset


def publish(path: Path, content: bytes | Iterable[bytes | bytearray]) -> None:
    """Write a file atomically: it appears whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        write(aside, content)
        disk.rename(aside, path)
    finally:
        if aside.exists():
            disk.remove_file(aside)
    flush_folder(path.parent)


def rename(old: Path, new: Path) -> None:
    """Rename a file or a folder, and wait for the disk."""
    disk.rename(old, new)
    flush_folder(new.parent)


def make_folder(path: Path) -> None:
    """Make a folder, if it is not there."""
    with suppress(FileExistsError):
        disk.make_folder(path)


def remove_folder(path: Path) -> None:
    """Remove a folder with everything in it."""
    for entry in sorted(path.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            remove_folder(entry)
        else:
            disk.remove_file(entry)
    disk.remove_folder(path)


def flush_folder(path: Path) -> None:
    """Wait until a folder's entries are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        disk.flush(handle)
    finally:
        os.close(handle)
