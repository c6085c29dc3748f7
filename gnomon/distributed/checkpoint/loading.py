"""torch.distributed.checkpoint.load: each rank reads the rectangles of tensors that it holds.

Files are strangers: sums are compared before any tensor changes, each tensor's by one rank.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gnomon.distributed.checkpoint.described import (
    DESCRIPTION,
    OBJECTS,
    FolderContents,
    described,
    digest_of,
)
from gnomon.distributed.checkpoint.nested import ValuePlace, places, stateful_parts, states
from gnomon.distributed.checkpoint.planners import DefaultLoadPlanner, check_planner
from gnomon.distributed.checkpoint.ranks import Ranks, held, own_part
from gnomon.distributed.checkpoint.reader import StoredTensor, TensorReader, damaged
from gnomon.distributed.checkpoint.saving import folder_of, together
from gnomon.distributed.checkpoint.torch_folder import METADATA, TorchFolder, TorchTensor
from gnomon.distributed.groups import Group
from gnomon.dtypes import DType, dtype_of
from gnomon.errors import CheckpointError, ShapeError
from gnomon.serialization.files import load as load_objects
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.creation import from_numpy
from gnomon.tensor.tensor import Paired, Size, Tensor, pair_of

__all__ = [
    "BytesStorageMetadata",
    "FileSystemReader",
    "Metadata",
    "TensorProperties",
    "TensorStorageMetadata",
    "load",
]


@dataclass(frozen=True)
class TensorProperties:
    """The dtype of a tensor in a checkpoint."""

    dtype: DType


@dataclass(frozen=True)
class TensorStorageMetadata:
    """A tensor in a checkpoint."""

    properties: TensorProperties
    size: Size


@dataclass(frozen=True)
class BytesStorageMetadata:
    """A value in a checkpoint that is no tensor."""


@dataclass(frozen=True)
class Metadata:
    """A checkpoint's values by path."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]


class FileSystemReader:
    """Reads the checkpoint of a folder."""

    def __init__(self, path: str | os.PathLike, *_: Any, **__: Any) -> None:
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """The paths of values, and the dtypes and shapes of tensors."""
        found = saved_in(self.path)
        tensors = {path: entry_of(found, path) for path in found.tensors}
        return Metadata({**tensors, **dict.fromkeys(found.paths, BytesStorageMetadata())})


class SavedFolder:
    """A folder's checkpoint, with verified description and headers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.contents: FolderContents
        self.tensors: TensorReader
        self.contents, self.tensors = described(folder)
        self.complex = self.contents.complex

    @property
    def paths(self) -> list[str]:
        """The values that are no tensors."""
        return [*self.read_objects()]

    def verify(self, rank: int, count: int) -> None:
        """Verify the checksums of the tensors assigned to this rank."""
        for k, (path, wanted) in enumerate(sorted(self.contents.sums.items())):
            stored = self.tensors[path]
            if k % count == rank and f"{stored.sum():016x}" != wanted:
                raise damaged(stored.path, f"tensor {path}")

    def objects(self, wanted: Container[str]) -> dict[str, Any]:
        """Values that are no tensors, by path."""
        return {path: value for path, value in self.read_objects().items() if path in wanted}

    def read_objects(self) -> dict[str, Any]:
        """All values that are no tensors."""
        path = self.folder / OBJECTS.format(self.contents.token)
        if digest_of(path) != self.contents.objects:
            raise damaged(path)
        return load_objects(path)


def saved_in(folder: Path) -> SavedFolder | TorchFolder:
    """The checkpoint in a folder, written by PyTorch or by this package."""
    theirs = (folder / METADATA).exists() and not (folder / DESCRIPTION).exists()
    return TorchFolder(folder) if theirs else SavedFolder(folder)


def entry_of(found: SavedFolder | TorchFolder, path: str) -> TensorStorageMetadata:
    """A tensor's dtype and shape."""
    stored = found.tensors[path]
    dtype, shape = dtype_of(stored.dtype), stored.shape
    if path in found.complex:
        dtype, shape = dtype_of(f"complex{2 * dtype.bits}"), shape[:-1]
    return TensorStorageMetadata(TensorProperties(dtype), Size(shape))


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: DefaultLoadPlanner | None = None,
    process_group: Group = None,
    no_dist: bool = False,
) -> None:
    """Fill a nested dict of tensors and other values from a folder, all ranks together.

    Tensors are written in place, each rank's part of them; other values are replaced.
    """
    check_planner("load", planner, DefaultLoadPlanner)
    ranks = Ranks(process_group, no_dist)
    folder = folder_of("load", checkpoint_id, storage_reader, FileSystemReader)
    made, opened = states(state_dict), []

    def checked() -> None:
        found = saved_in(folder)
        found.verify(ranks.rank, ranks.count)
        wanted = places(made)
        objects = found.objects(wanted)
        partial = planner is not None and planner.allow_partial_load
        for path in [path for path in wanted if not (path in found.tensors or path in objects)]:
            if not partial:
                raise CheckpointError(f"Missing key in checkpoint state_dict: {path}.")
            wanted.pop(path)
        for path, place in wanted.items():
            check_fit(path, place.value, found)
        opened.extend((found, objects, wanted))

    together("read", ranks, checked)
    found, objects, wanted = opened
    fill(wanted, found, objects)
    for key, part in stateful_parts(state_dict).items():
        part.load_state_dict(made[key])
    state_dict.update({key: made[key] for key in made if key not in stateful_parts(state_dict)})


def check_fit(path: str, value: Any, found: SavedFolder | TorchFolder) -> None:
    """Refuse a tensor of another shape, or one where the checkpoint has none."""
    is_tensor = isinstance(value, (Tensor, Paired))
    if is_tensor != (path in found.tensors):
        raise CheckpointError(
            f"checkpoint: {path} is {'a' if is_tensor else 'no'} tensor here, and is not so in "
            f"{found.folder}. Give what was saved."
        )
    if is_tensor and tuple(value.shape) != tuple(entry_of(found, path).size):
        raise ShapeError(
            f"Size mismatch between saved {tuple(entry_of(found, path).size)} and current: "
            f"{tuple(value.shape)} for {path}"
        )


def fill(
    wanted: Mapping[str, ValuePlace], found: SavedFolder | TorchFolder, objects: Mapping[str, Any]
) -> None:
    """Store values that were read at their places."""
    for path, place in wanted.items():
        if path not in found.tensors:
            place.holder[place.key] = objects[path]
        elif (path in found.complex) == isinstance(place.value, Paired):
            read_into(path, place.value, found.tensors[path])
        else:
            raise CheckpointError(f"checkpoint: {path} is complex here or in the file alone.")


def read_into(path: str, tensor: Any, stored: StoredTensor | TorchTensor) -> None:
    """Read this rank's part of a tensor into its memory."""
    where = held(path, pair_of(tensor))
    ends = zip(where.begins, where.sizes, strict=True)
    part = stored[tuple(slice(begin, begin + size) for begin, size in ends)]
    with no_grad():
        own_part(tensor).copy_(from_numpy(part))
