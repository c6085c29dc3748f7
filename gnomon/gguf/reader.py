"""Read the head of a GGUF file: header, metadata, descriptions of tensors.

A file is not trusted: each length is compared with the remaining bytes before it is used. Every
fault is a ValueError, which `load` turns into an error that names the file.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from gnomon.errors import brief
from gnomon.gguf.element_types import ARRAY, BOOL, NUMBERS, STRING, ElementType, type_of
from gnomon.serialization.members import check_truths

__all__ = [
    "ALIGNMENT",
    "ALIGNMENT_KEY",
    "Cursor",
    "Header",
    "MAGIC",
    "MOST_AXES",
    "alignment_of",
    "read_header",
]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""The supported versions, which have one layout."""
ALIGNMENT_KEY, ALIGNMENT = "general.alignment", 32
"""The key of the tensors' alignment, and the alignment without it."""
MOST_AXES = 4
DEEPEST = 8
"""The maximum nesting of arrays."""
LEAST_KEY, LEAST_TENSOR, LEAST_ARRAY = 8 + 4 + 1, 8 + 4 + 4 + 8, 4 + 8
"""The least bytes of a key with its value, of a tensor's description, and of a nested array."""
LARGEST = 1 << 60
"""The maximum product of a tensor's sizes, not counting zeros."""
U32, U64 = struct.Struct("<I"), struct.Struct("<Q")


class TensorEntry(NamedTuple):
    """A tensor's description; its offset counts from the start of the tensors' data."""

    name: str
    shape: tuple[int, ...]
    kind: ElementType
    offset: int

    @property
    def nbytes(self) -> int:
        """The tensor's size in bytes, 0 if the type is unknown."""
        return prod(self.shape) // self.kind.elements * self.kind.nbytes


class Header(NamedTuple):
    """The contents of a file before its tensors."""

    version: int
    metadata: dict[str, Any]
    entries: list[TensorEntry]
    start: int
    """The byte at which the tensors' data begins."""


class Cursor:
    """Reads numbers and strings one after another, with bounds checks."""

    def __init__(self, content: Any) -> None:
        self.content, self.size, self.place = content, len(content), 0

    def take(self, count: int) -> int:
        """Advance by some bytes and return the position before them."""
        if count > self.size - self.place:
            raise ValueError(
                f"{count:,} bytes should follow at byte {self.place:,}, and "
                f"{self.size - self.place:,} do"
            )
        place = self.place
        self.place += count
        return place

    def u32(self) -> int:
        """Read a 32-bit unsigned integer."""
        return U32.unpack_from(self.content, self.take(4))[0]

    def u64(self) -> int:
        """Read a 64-bit unsigned integer."""
        return U64.unpack_from(self.content, self.take(8))[0]

    def count(self, least: int, things: str) -> int:
        """Read a count of items and check that these, of at least `least` bytes each, fit."""
        count = self.u64()
        if count * least > self.size - self.place:
            raise ValueError(f"it cannot hold {count:,} {things}")
        return count

    def text(self) -> str:
        """Read a string."""
        length = self.u64()
        place = self.take(length)
        return str(self.content[place : place + length], "utf-8")

    def value(self, kind: int, depth: int = 0) -> Any:
        """Read a value: a NumPy number, a bool, a string, or an array of them."""
        if kind in NUMBERS:
            found = self.numbers(NUMBERS[kind], 1)[0]
            return bool(found) if kind == BOOL else found
        if kind == STRING:
            return self.text()
        if kind != ARRAY:
            raise ValueError(f"no value has type {kind}")
        if depth == DEEPEST:
            raise ValueError(f"arrays are nested more than {DEEPEST} deep")
        inner = self.u32()
        if inner in NUMBERS:
            dtype = NUMBERS[inner]
            return self.numbers(dtype, self.count(dtype.itemsize, "numbers"))
        if inner not in (STRING, ARRAY):
            raise ValueError(f"no value has type {inner}")
        if inner == STRING:
            return [self.text() for _ in range(self.count(8, "strings"))]
        count = self.count(LEAST_ARRAY, "arrays")
        return [self.value(ARRAY, depth + 1) for _ in range(count)]

    def numbers(self, dtype: np.dtype, count: int) -> np.ndarray:
        """Read numbers of a dtype."""
        place = self.take(count * dtype.itemsize)
        if dtype.kind == "b":
            found = np.frombuffer(self.content, np.uint8, count, place)
            check_truths("its metadata", found)
            return found.view(np.bool_)
        return np.frombuffer(self.content, dtype, count, place)


def read_header(content: Any) -> Header:
    """Read and validate the header of a file's bytes."""
    cursor = Cursor(content)
    if content[: len(MAGIC)] != MAGIC:
        raise ValueError(f"it begins with {bytes(content[: len(MAGIC)])!r}, not {MAGIC!r}")
    cursor.take(len(MAGIC))
    version = cursor.u32()
    if version not in VERSIONS:
        turned = int.from_bytes(version.to_bytes(4, "little"), "big")
        why = "its numbers are big-endian" if turned in VERSIONS else f"its version is {version:,}"
        raise ValueError(f"{why}, and versions {VERSIONS[0]} and {VERSIONS[1]} are read")
    tensors, keys = cursor.count(LEAST_TENSOR, "tensors"), cursor.count(LEAST_KEY, "keys")
    metadata: dict[str, Any] = {}
    for _ in range(keys):
        key = cursor.text()
        if key in metadata:
            raise ValueError(f"the key {brief(key)} is there twice")
        metadata[key] = cursor.value(cursor.u32())
    entries = [read_entry(cursor) for _ in range(tensors)]
    alignment = alignment_of(metadata)
    start = -(-cursor.place // alignment) * alignment
    check_places(entries, alignment, len(content) - start)
    return Header(version, metadata, entries, start)


def read_entry(cursor: Cursor) -> TensorEntry:
    """Read the description of the next tensor."""
    name, axes = cursor.text(), cursor.u32()
    if axes > MOST_AXES:
        raise ValueError(f"tensor {brief(name)} has {axes:,} axes, and {MOST_AXES} are the most")
    shape = tuple(cursor.u64() for _ in range(axes))[::-1]
    kind, offset = type_of(cursor.u32()), cursor.u64()
    if prod(max(size, 1) for size in shape) > LARGEST:
        raise ValueError(f"tensor {brief(name)} has shape {shape}")
    if (shape[-1] if shape else 1) % kind.elements:
        raise ValueError(
            f"tensor {brief(name)} has rows of {shape[-1] if shape else 1}, which are no blocks of "
            f"{kind.elements} as {kind.name} has them"
        )
    return TensorEntry(name, shape, kind, offset)


def alignment_of(metadata: dict[str, Any]) -> int:
    """The alignment of tensors in the file, in bytes."""
    found = metadata.get(ALIGNMENT_KEY, np.uint32(ALIGNMENT))
    if not isinstance(found, np.uint32) or found.bit_count() != 1:
        raise ValueError(f"{ALIGNMENT_KEY} is {brief(found)}, and no power of two of 32 bits")
    return int(found)


def check_places(entries: list[TensorEntry], alignment: int, size: int) -> None:
    """Refuse tensors that share a name, overlap, are unaligned, or end outside the file."""
    names: set[str] = set()
    for name, _, _, offset in entries:
        if name in names:
            raise ValueError(f"tensor {brief(name)} is there twice")
        names.add(name)
        if offset % alignment:
            raise ValueError(
                f"tensor {brief(name)} begins at {offset:,}, no multiple of {alignment}"
            )
    taken = sorted((x for x in entries if x.nbytes or not x.kind.nbytes), key=lambda x: x.offset)
    for entry in taken:
        if entry.offset + entry.nbytes > max(size, 0):
            raise ValueError(
                f"tensor {brief(entry.name)} should end at byte {entry.offset + entry.nbytes:,} of "
                f"the tensors, which have {max(size, 0):,}"
            )
    for one, other in pairwise(taken):
        if one.offset + one.nbytes > other.offset:
            raise ValueError(f"tensors {brief(one.name)} and {brief(other.name)} overlap")
