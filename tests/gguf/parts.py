"""GGUF files put together by hand, byte by byte, so that each part can be wrong.

Not a test.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

U8, U32, F32, BOOL, STRING, ARRAY, U64 = 0, 4, 6, 7, 8, 9, 10


def u32(*numbers: int) -> bytes:
    """Numbers of 32 bits."""
    return struct.pack(f"<{len(numbers)}I", *numbers)


def u64(*numbers: int) -> bytes:
    """Numbers of 64 bits."""
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def text(said: str | bytes) -> bytes:
    """A string behind its length."""
    content = said if isinstance(said, bytes) else said.encode()
    return u64(len(content)) + content


def key(name: str, kind: int, value: bytes) -> bytes:
    """A key of metadata with its value."""
    return text(name) + u32(kind) + value


def entry(name: str | bytes, shape: Sequence[int] = (2,), kind: int = 0, offset: int = 0) -> bytes:
    """A tensor's description; shape: the elements of a row come first, as the format has it."""
    return text(name) + u32(len(shape)) + u64(*shape) + u32(kind) + u64(offset)


def file_of(
    keys: Sequence[bytes] = (),
    entries: Sequence[bytes] = (),
    content: bytes = b"",
    alignment: int = 32,
    start: bytes = b"GGUF" + u32(3),
) -> bytes:
    """A whole file."""
    head = start + u64(len(entries), len(keys)) + b"".join(keys) + b"".join(entries)
    return head + bytes(-len(head) % alignment) + content
