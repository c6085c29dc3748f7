"""Writing so that a reader never sees half: aside, flushed to the disk, renamed.

Folders are published the same way. What is written is the callers' business.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

__all__ = ["flush_folder", "publish", "write"]


def write(path: Path, content: bytes | Iterable[bytes | bytearray]) -> None:
    """Write a file, whole or by pieces, and wait until the disk has it; for files nobody reads."""
    with path.open("wb") as file:
        file.writelines([content] if isinstance(content, bytes) else content)
        file.flush()
        os.fsync(file.fileno())


def publish(path: Path, content: bytes | Iterable[bytes | bytearray]) -> None:
    """Make a file appear whole, or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        write(aside, content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    flush_folder(path.parent)


def flush_folder(path: Path) -> None:
    """Wait until the disk has the folder's names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
