"""Encode protobuf messages: each function gives the bytes of a field.

A message is the concatenation of its fields, so nothing is built before it is written.
"""

from __future__ import annotations

from struct import pack

__all__ = ["VARINT", "double", "fixed", "message", "number", "string", "tag", "varint"]

VARINT, FIXED, DELIMITED = 0, 1, 2


def varint(value: int, width: int = 1) -> bytes:
    """Encode an integer as a varint of at least `width` bytes, a negative one as 64 bits.

    >>> varint(300).hex(), varint(1, 3).hex()
    ('ac02', '818000')
    """
    value &= (1 << 64) - 1
    groups = [value & 0x7F]
    while (value := value >> 7) or len(groups) < width:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def tag(field: int, kind: int) -> bytes:
    """Encode the tag of a field."""
    return varint(field << 3 | kind)


def number(field: int, value: int) -> bytes:
    """Encode a field with an integer, bool or enum."""
    return tag(field, VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    """Encode a field with a 64-bit float."""
    return tag(field, FIXED) + pack("<d", value)


def fixed(field: int, value: int) -> bytes:
    """Encode a field with an integer as fixed 64 bits."""
    return tag(field, FIXED) + pack("<Q", value)


def message(field: int, *fields: bytes, width: int = 1) -> bytes:
    """Encode a nested message, whose length takes at least `width` bytes."""
    body = b"".join(fields)
    return tag(field, DELIMITED) + varint(len(body), width) + body


def string(field: int, value: str) -> bytes:
    """Encode a field with a string."""
    return message(field, value.encode())
