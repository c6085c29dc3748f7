"""Reading tensors by rectangles: no more bytes leave the disk than the rectangle has.

Files are strangers: what a header says is compared with the file before anything is made.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np
from msgspec import Meta

from gnomon.distributed.checkpoint.files import DTYPES, dtype_called
from gnomon.distributed.checkpoint.parts import ElementRuns, runs
from gnomon.distributed.checkpoint.sums import MODULUS, element_sum
from gnomon.errors import CheckpointError, clipped
from gnomon.runtime.files import LARGEST_TEXT, plain
from gnomon.runtime.json_files import decoded, read_text, unreadable

__all__ = ["TensorReader", "damaged"]

Size = Annotated[int, Meta(ge=0, le=1 << 48)]
MOST_AXES = 32
BLOCK = 4 << 20
"""Bytes that are looked at together when a tensor is compared with its sum."""


class Entry(msgspec.Struct):
    """A tensor in a header."""

    dtype: str
    shape: Annotated[list[Size], Meta(max_length=MOST_AXES)]
    data_offsets: tuple[Size, Size]


class WeightsIndex(msgspec.Struct):
    """The index of several files, in the index's folder."""

    weight_map: dict[str, Annotated[str, Meta(pattern=r"^\w[\w.-]*\.safetensors\Z")]]


@dataclass
class StoredTensor:
    """A tensor in a file, of which a rectangle is read where it is indexed: t[0:2, 3:5], or t[()].

    Raises CheckpointError where the file ends before it.
    """

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype
    begin: int
    """The byte of the file at which it begins."""
    bytes_read: int = 0
    flags: int = os.O_NOFOLLOW
    """Flags of opening the file."""

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)

    def __getitem__(self, where: tuple[slice, ...]) -> np.ndarray:
        """A rectangle of the tensor, the only bytes that are read."""
        given = where + (slice(None),) * (len(self.shape) - len(where))
        ranges = [x.indices(n)[:2] for x, n in zip(given, self.shape, strict=True)]
        offsets, sizes = [low for low, _ in ranges], [max(0, high - low) for low, high in ranges]
        found = np.empty(tuple(sizes), self.dtype)
        self.fill(found, runs(self.shape, offsets, sizes))
        return found

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        return self[()].astype(dtype or self.dtype, copy=False)

    def fill(self, found: np.ndarray, place: ElementRuns) -> None:
        """Read runs of elements into an array that they fill."""
        content = memoryview(found.reshape(-1).view(np.uint8))
        width, length = self.dtype.itemsize, place.length * self.dtype.itemsize
        try:
            with plain(self.path, self.flags) as file:
                for number, start in enumerate(place.starts.tolist()):
                    run = content[number * length : (number + 1) * length]
                    read_into(file, run, self.begin + start * width)
                    self.bytes_read += length
        except OSError as wrong:
            raise unreadable(self.path, wrong) from None

    def sum(self) -> int:
        """The checksum of the elements, computed block by block."""
        step, total = BLOCK // self.dtype.itemsize, 0
        for start in range(0, self.size, step):
            block = np.empty(min(step, self.size - start), self.dtype)
            place = ElementRuns(np.array([start], np.int64), len(block))
            self.fill(block, place)
            total += element_sum(block, place)
        return total % MODULUS


class TensorReader(Mapping[str, StoredTensor]):
    """The tensors of an index, or of a file, by name; each is read when it is indexed.

    links: a file may be a link to another, as those of a cache are.

    Raises CheckpointError, which names the file, where files do not hold what they say.
    """

    def __init__(self, path: Path, *, links: bool = False) -> None:
        self.path, self.flags = path, 0 if links else os.O_NOFOLLOW
        self.headers: dict[str, str] = {}
        """The SHA-256 of each file's header."""
        self.stored: dict[str, StoredTensor] = {}
        if path.suffix == ".safetensors":
            self.stored = self.opened(path)
            return
        where = decoded(path, read_text(path), WeightsIndex).weight_map
        for name in sorted(set(where.values())):
            self.stored |= self.opened(path.parent / name)
        if {name: x.path.name for name, x in self.stored.items()} != where:
            raise CheckpointError(f"checkpoint: {path} names other tensors than its files hold.")

    def opened(self, path: Path) -> dict[str, StoredTensor]:
        """The tensors of a file, by its header."""
        try:
            with plain(path, self.flags) as file:
                size = os.fstat(file.fileno()).st_size
                length = int.from_bytes(file.read(8), "little")
                if not 2 <= length <= min(size - 8, LARGEST_TEXT):
                    raise unreadable(path, ValueError(f"a header of {length} bytes"))
                text = file.read(length)
        except OSError as wrong:
            raise unreadable(path, wrong) from None
        self.headers[path.name] = hashlib.sha256(text).hexdigest()
        entries = decoded(path, text, dict[str, Any])
        entries.pop("__metadata__", None)
        found = {name: entry_of(path, name, row) for name, row in entries.items()}
        refuse_overlap(path, found, size - 8 - length)
        return {name: self.placed(path, entry, 8 + length) for name, entry in found.items()}

    def placed(self, path: Path, entry: Entry, base: int) -> StoredTensor:
        """The reader of a tensor."""
        dtype, begin = dtype_called(entry.dtype).numpy, base + entry.data_offsets[0]
        return StoredTensor(path, tuple(entry.shape), dtype, begin, flags=self.flags)

    def __getitem__(self, name: str) -> StoredTensor:
        return self.stored[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def verify(self, sums: Mapping[str, str]) -> None:
        """Verify every tensor's checksum, in hexadecimal; an error names what changed."""
        if sums.keys() != self.stored.keys():
            raise CheckpointError(f"checkpoint: {self.path} names other tensors than have sums.")
        for name, wanted in sums.items():
            if f"{self.stored[name].sum():016x}" != wanted:
                raise damaged(self.stored[name].path, f"tensor {name}")


def entry_of(path: Path, name: str, row: object) -> Entry:
    """A tensor of a header, whose number of bytes is checked against its shape."""
    try:
        entry = msgspec.convert(row, Entry)
    except msgspec.ValidationError as wrong:
        raise unreadable(path, ValueError(f"tensor {name}: {clipped(wrong)}")) from None
    begin, end = entry.data_offsets
    if entry.dtype not in DTYPES:
        raise unreadable(path, ValueError(f"tensor {name}: elements of {entry.dtype}"))
    if end - begin != prod(entry.shape) * dtype_called(entry.dtype).itemsize:
        raise unreadable(path, ValueError(f"tensor {name}: {entry.shape} in {end - begin} bytes"))
    return entry


def refuse_overlap(path: Path, entries: Mapping[str, Entry], size: int) -> None:
    """Refuse tensors that overlap, leave holes, or do not end at the file's end."""
    place = 0
    for begin, end in sorted(entry.data_offsets for entry in entries.values()):
        if begin != place:
            raise unreadable(
                path, ValueError(f"byte {place} of its tensors belongs to none or two")
            )
        place = end
    if place != size:
        raise unreadable(path, ValueError(f"{size} bytes of tensors where the header has {place}"))


def read_into(file: BinaryIO, content: memoryview, offset: int) -> None:
    """Fill memory from a place in a file."""
    while content:
        taken = os.preadv(file.fileno(), [content], offset)
        if not taken:
            raise OSError(f"it ends at byte {offset}")
        content, offset = content[taken:], offset + taken


def damaged(path: Path, part: str = "") -> CheckpointError:
    """The error for a file that changed."""
    of = f"{part} of " if part else ""
    return CheckpointError(f"checkpoint: {of}{path} is not what was written. Delete {path.parent}.")
