"""Reads protobuf without knowing the messages: numbered fields, as the wire has them. No test."""

from __future__ import annotations

from struct import unpack_from

Field = tuple[int, int | bytes]


def fields(message: bytes) -> list[Field]:
    """The fields of a message in order; every byte must belong to one."""
    found: list[Field] = []
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        number, kind = key >> 3, key & 7
        assert number, "a field has number 0"
        if kind == 0:
            value, place = varint(message, place)
        elif kind == 1:
            (value,) = unpack_from("<Q", message, place)
            place += 8
        else:
            assert kind == 2, f"no field is of kind {kind}"
            length, place = varint(message, place)
            assert place + length <= len(message), "a field outlives its message"
            value, place = message[place : place + length], place + length
        found.append((number, value))
    return found


def varint(message: bytes, place: int) -> tuple[int, int]:
    """A whole number and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        place, value, shift = place + 1, value | (byte & 0x7F) << shift, shift + 7
        assert shift <= 70, "a number takes more than ten bytes"
        if byte < 0x80:
            return value, place


def values(message: bytes, number: int) -> list[int | bytes]:
    """What a message says in a field, once or often."""
    return [value for field, value in fields(message) if field == number]
