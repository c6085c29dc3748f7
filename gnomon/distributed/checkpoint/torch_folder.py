"""Folders that PyTorch's distributed checkpoints wrote: a pickle that tells of parts, and these.

The pickle is read by an interpreter of our own, which makes records and calls nothing else; each
part is a file of torch.save's inside of another. There are no sums, so all parts are read once
before anything changes: zips tell of changed bytes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import DType
from gnomon.errors import ArgumentError, CheckpointError, brief, clipped
from gnomon.runtime.files import LARGEST_TEXT, plain, read
from gnomon.serialization.files import BROKEN
from gnomon.serialization.files import load as load_part
from gnomon.serialization.pickled import Interpreter
from gnomon.serialization.torch_files import NAMES, settle
from gnomon.tensor.tensor import Paired, Tensor, array_of, pair_of

__all__ = ["METADATA", "TorchFolder"]

METADATA = ".metadata"
HOME = "torch.distributed.checkpoint"
MOST_CHUNKS = 4096
"""Parts of one tensor, each of which is compared with all others."""


class NotedObject:
    """An unpickled object of a description: its attributes or arguments."""

    state: tuple = ()


KINDS = {
    f"{HOME}.{name}": type(name.rpartition(".")[2], (NotedObject,), {})
    for name in (
        *("metadata.Metadata", "metadata.MetadataIndex", "metadata.StorageMeta"),
        *("metadata.TensorStorageMetadata", "metadata.BytesStorageMetadata"),
        *("metadata.TensorProperties", "metadata.ChunkStorageMetadata"),
        "filesystem._StorageInfo",
    )
}
OTHERS = {
    f"{HOME}.metadata._MEM_FORMAT_ENCODING": lambda *_: None,
    **{
        f"pathlib.{name}": lambda *_: None for name in ("PosixPath", "WindowsPath", "PurePosixPath")
    },
}
"""Entries of a description that say nothing of tensors."""


class FileSpan(NamedTuple):
    """A range of bytes of a file."""

    path: Path
    begin: int
    length: int

    def value(self) -> Any:
        """The object that torch.save wrote there."""
        try:
            with plain(self.path, os.O_NOFOLLOW) as file:
                file.seek(self.begin)
                content = file.read(self.length)
            return load_part(BytesIO(content))
        except (OSError, ArgumentError) as wrong:
            raise CheckpointError(f"checkpoint: {self.path} cannot be read: {wrong}") from None


class TensorChunk(NamedTuple):
    """A rectangle of a tensor, and its position in files."""

    begins: tuple[int, ...]
    sizes: tuple[int, ...]
    span: FileSpan


@dataclass(frozen=True)
class TorchTensor:
    """A tensor in parts, of which a rectangle is read where it is indexed: t[0:2, 3:5], or t[()].

    Of complex numbers the last axis is their two parts.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    chunks: Sequence[TensorChunk]

    def __getitem__(self, where: tuple[slice, ...]) -> np.ndarray:
        """A rectangle."""
        given = where + (slice(None),) * (len(self.shape) - len(where))
        ranges = [x.indices(n)[:2] for x, n in zip(given, self.shape, strict=True)]
        found = np.empty([max(0, high - low) for low, high in ranges], self.dtype)
        for chunk in self.chunks:
            spans = zip(chunk.begins, chunk.sizes, ranges, strict=True)
            both = [(max(b, low), min(b + n, high), b, low) for b, n, (low, high) in spans]
            if all(low < high for low, high, *_ in both):
                mine = tuple(slice(low - own, high - own) for low, high, _, own in both)
                its = tuple(slice(low - begin, high - begin) for low, high, begin, _ in both)
                found[mine] = self.part(chunk)[its]
        return found

    def part(self, chunk: TensorChunk) -> np.ndarray:
        """The elements of a chunk."""
        value = chunk.span.value()
        if not isinstance(value, (Tensor, Paired)):
            raise CheckpointError(f"checkpoint: {chunk.span.path} holds no tensor where it should.")
        array = array_of(pair_of(value).detach())
        if array.shape != chunk.sizes or array.dtype != self.dtype:
            raise CheckpointError(
                f"checkpoint: {chunk.span.path} holds {array.shape} of {array.dtype}: expected "
                f"{chunk.sizes} of {self.dtype}."
            )
        return array


class TorchFolder:
    """A folder's checkpoint in PyTorch's format, whose description fits the files beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            metadata = described(folder / METADATA)
            spans = {
                place: span_of(folder, where) for place, where in metadata.storage_data.items()
            }
            self.spans = {(x.fqn, offsets_of(x)): span for x, span in spans.items()}
            self.tensors: dict[str, TorchTensor] = {}
            self.complex: list[str] = []
            self.paths: list[str] = []
            for path, entry in metadata.state_dict_metadata.items():
                self.enter(path, entry)
        except (*BROKEN, ArgumentError, AttributeError) as wrong:
            why = wrong.strerror if isinstance(wrong, OSError) and wrong.strerror else str(wrong)
            raise CheckpointError(
                f"checkpoint: {folder / METADATA} cannot be read: {clipped(why)}."
            ) from None

    def enter(self, path: str, entry: Any) -> None:
        """Record a value of the description: a tensor's shape, dtype and parts, or an object."""
        if type(entry) is KINDS[f"{HOME}.metadata.BytesStorageMetadata"]:
            self.paths.append(path)
            return
        dtype = entry.properties.state[0]
        if not isinstance(dtype, DType):
            raise ValueError(f"{brief(path)} has no dtype")
        shape, pair = tuple(entry.size), ()
        if dtype.is_complex:
            self.complex.append(path)
            pair = (2,)
        chunks = [
            TensorChunk(
                (*map(nonnegative, x.offsets), *(0 for _ in pair)),
                (*map(nonnegative, x.sizes), *pair),
                self.spans[path, tuple(x.offsets)],
            )
            for x in entry.chunks
        ]
        check_tiling(path, (*shape, *pair), chunks)
        kind = np.dtype(f"f{dtype.itemsize // 2}") if pair else dtype.numpy
        self.tensors[path] = TorchTensor((*shape, *pair), kind, chunks)

    def verify(self, rank: int, count: int) -> None:
        """Read the tensors assigned to this rank, to verify them."""
        for tensor in [x for k, x in enumerate(self.tensors.values()) if k % count == rank]:
            for chunk in tensor.chunks:
                tensor.part(chunk)

    def objects(self, wanted: Container[str]) -> dict[str, Any]:
        """Values that are no tensors, by path."""
        return {x: self.spans[x, None].value() for x in self.paths if x in wanted}


def offsets_of(place: Any) -> tuple[int, ...] | None:
    """The first element of a part; None for a value that is no tensor."""
    found = getattr(place, "offset", None)
    return None if found is None else tuple(found)


def described(path: Path) -> Any:
    """The description of a checkpoint."""
    content = BytesIO(read(path, LARGEST_TEXT))
    metadata = Interpreter(NAMES | OTHERS | KINDS, of_record, {}.__getitem__).read(content)
    if type(metadata) is not KINDS[f"{HOME}.metadata.Metadata"]:
        raise ValueError("it is no description of a checkpoint")
    return metadata


def of_record(made: Any, state: Any) -> bool:
    """Give a record its attributes."""
    if not isinstance(made, NotedObject):
        return settle(made, state)
    if isinstance(state, tuple):
        made.state = state
    else:
        vars(made).update(state)
    return True


def span_of(folder: Path, where: Any) -> FileSpan:
    """The span of bytes that a description names, checked against the file of the folder."""
    name, begin, length = where.relative_path, nonnegative(where.offset), nonnegative(where.length)
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"a file is called {brief(name)}")
    if getattr(where, "transform_descriptors", None):
        raise ValueError("its parts are compressed: save it without extensions")
    path = folder / name
    if path.is_symlink() or begin + length > path.stat().st_size:
        raise ValueError(f"{name} has no {length} bytes at {begin}")
    return FileSpan(path, begin, length)


def nonnegative(value: Any) -> int:
    """A number of at least 0."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{brief(value)} is no place")
    return value


def check_tiling(path: str, shape: tuple[int, ...], chunks: Sequence[TensorChunk]) -> None:
    """Refuse parts that exceed a tensor, overlap, or leave holes."""
    total = sum(prod(chunk.sizes) for chunk in chunks)
    if total != prod(map(nonnegative, shape)) or not 0 < len(chunks) <= MOST_CHUNKS:
        raise ValueError(f"{brief(path)} has {total} elements in {len(chunks)} parts")
    low = np.array([chunk.begins for chunk in chunks], np.int64).reshape(len(chunks), -1)
    high = low + np.array([chunk.sizes for chunk in chunks], np.int64).reshape(len(chunks), -1)
    if (high > np.array(shape, np.int64)).any():
        raise ValueError(f"{brief(path)} has parts beyond {shape}")
    over = (low[:, None] < high[None]).all(-1) & (low[None] < high[:, None]).all(-1)
    if total and over.sum() > len(chunks):
        raise ValueError(f"parts of {brief(path)} lie over each other")
