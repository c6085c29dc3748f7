"""Protobuf's wire format, as far as a trace needs it: fields of a message, each as bytes.

A message is the concatenation of its fields, so nothing is built before it is written. What the
numbers of fields mean is the business of who writes them.
"""

from __future__ import annotations

from struct import pack

__all__ = ["VARINT", "double", "fixed", "message", "number", "string", "tag", "varint"]

VARINT, FIXED, DELIMITED = 0, 1, 2


def varint(value: int, width: int = 1) -> bytes:
    """A whole number, seven bits a byte, in at least so many bytes; a negative one as 64 bits.

    >>> varint(300).hex(), varint(1, 3).hex()
    ('ac02', '818000')
    """
    value &= (1 << 64) - 1
    groups = [value & 0x7F]
    while (value := value >> 7) or len(groups) < width:
        groups.append(value & 0x7F)
    return bytes([*(group | 0x80 for group in groups[:-1]), groups[-1]])


def tag(field: int, kind: int) -> bytes:
    """The tag before a field's value."""
    return varint(field << 3 | kind)


def number(field: int, value: int) -> bytes:
    """A whole number, a truth value or an enum."""
    return tag(field, VARINT) + varint(value)


def double(field: int, value: float) -> bytes:
    """A float of 64 bits."""
    return tag(field, FIXED) + pack("<d", value)


def fixed(field: int, value: int) -> bytes:
    """A whole number that always takes 64 bits."""
    return tag(field, FIXED) + pack("<Q", value)


def message(field: int, *fields: bytes, width: int = 1) -> bytes:
    """A message in a message; its length takes at least so many bytes."""
    body = b"".join(fields)
    return tag(field, DELIMITED) + varint(len(body), width) + body


def string(field: int, value: str) -> bytes:
    """Words."""
    return message(field, value.encode())
