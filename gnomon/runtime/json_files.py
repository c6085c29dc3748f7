"""JSON of files: read whole, decoded to a kind, and written for people."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from gnomon.errors import CheckpointError, clipped
from gnomon.runtime.files import LARGEST_TEXT, NOT_JSON, read

__all__ = ["decoded", "read_text", "to_json", "unreadable"]

Decoded = TypeVar("Decoded")


def read_text(path: Path) -> bytes:
    """The bytes of a text file of limited size; CheckpointError if it cannot be read."""
    try:
        return read(path, LARGEST_TEXT)
    except OSError as wrong:
        raise unreadable(path, wrong) from None


def decoded(path: Path, content: bytes, kind: type[Decoded]) -> Decoded:
    """The contents of a JSON file, which must be of this type."""
    try:
        return msgspec.json.decode(content, type=kind)
    except NOT_JSON as wrong:
        raise unreadable(path, wrong) from None


def unreadable(path: Path, wrong: BaseException) -> CheckpointError:
    """The error for a file that is not of the expected kind."""
    why = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
    return CheckpointError(f"checkpoint: {path} cannot be read: {clipped(why)}.")


def to_json(content: object) -> bytes:
    """Format as JSON for people: sorted and indented."""
    return msgspec.json.format(msgspec.json.encode(content, order="sorted"), indent=2) + b"\n"
