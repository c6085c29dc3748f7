"""torch.distributed.checkpoint.save: each rank writes its parts of tensors into one folder.

Whatever layout they have, the files are those of whole tensors: any number of ranks loads them.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from gnomon.distributed.checkpoint.described import (
    INDEX,
    OBJECTS,
    FolderContents,
    digest_of,
    publish_in,
)
from gnomon.distributed.checkpoint.files import index, planned, write_headers, write_parts
from gnomon.distributed.checkpoint.nested import places, states
from gnomon.distributed.checkpoint.planners import DefaultSavePlanner, check_planner
from gnomon.distributed.checkpoint.ranks import Ranks, divided_tensors, held
from gnomon.distributed.checkpoint.sums import whole_sums
from gnomon.distributed.groups import Group
from gnomon.errors import ArgumentError, CheckpointError
from gnomon.runtime.files import make_folder, write
from gnomon.serialization.files import save as save_objects
from gnomon.tensor.tensor import Paired, Tensor

__all__ = ["CheckpointException", "FileSystemWriter", "async_save", "save"]

Path_ = str | os.PathLike | None


class CheckpointException(CheckpointError):
    """Raised after ranks failed in a common task, with their errors by rank."""

    def __init__(self, msg: str, failures: dict[int, str]) -> None:
        super().__init__(f"{msg}: " + "; ".join(f"rank {k}: {x}" for k, x in failures.items()))
        self.failures = failures


class FileSystemWriter:
    """Writer of checkpoints into a folder; PyTorch's other options have no effect."""

    def __init__(self, path: str | os.PathLike, *_: Any, overwrite: bool = True, **__: Any) -> None:
        self.path, self.overwrite = Path(path), overwrite


class Save:
    """One save: this rank's part of it, and the goal."""

    def __init__(self, folder: Path, state_dict: Mapping[str, Any], ranks: Ranks) -> None:
        self.folder, self.ranks = folder, ranks
        values = {path: place.value for path, place in places(states(state_dict)).items()}
        tensors = {x: v for x, v in values.items() if isinstance(v, (Tensor, Paired))}
        pairs = [path for path, value in tensors.items() if isinstance(value, Paired)]
        objects = {path: value for path, value in values.items() if path not in tensors}
        own = together("hold", ranks, lambda: {x: held(x, v) for x, v in tensors.items()})
        rows = ranks.tell((objects, pairs, uuid.uuid4().hex))
        self.objects = {path: x for each, *_ in reversed(rows) for path, x in each.items()}
        self.pairs = sorted({path for _, paths, _ in rows for path in paths})
        self.token = rows[0][2]
        self.tensors = divided_tensors(tensors, own, ranks.rank)

    def staged(self) -> Save:
        """Copy this save's tensors, so that the originals may change; returns the save."""
        self.tensors = {path: x.staged() for path, x in self.tensors.items()}
        return self

    def write(self) -> None:
        """Write this rank's parts; the first rank adds the description when all have finished."""
        files = planned(self.token, self.tensors)

        def begin() -> None:
            self.folder.mkdir(parents=True, exist_ok=True)
            make_folder(self.folder)
            write_headers(self.folder, files)

        together("begin", self.ranks, begin, first=True)
        shares = together(
            "write", self.ranks, lambda: write_parts(self.folder, files, self.tensors, nothing)
        )
        sums = whole_sums(self.tensors, shares)
        headers = {x.name: hashlib.sha256(x.header[8:]).hexdigest() for x in files}
        text = msgspec.json.encode(index(files, self.tensors))

        def complete() -> None:
            write(self.folder / INDEX.format(self.token), text)
            objects = self.folder / OBJECTS.format(self.token)
            save_objects(self.objects, objects)
            contents = FolderContents(self.token, sums, headers, digest_of(objects), self.pairs)
            publish_in(self.folder, contents)

        together("complete", self.ranks, complete, first=True)


def nothing() -> None:
    """Do nothing when a write ends."""


def together(what: str, ranks: Ranks, work: Callable[[], Any], first: bool = False) -> list[Any]:
    """The results of all ranks, or of the first alone; an error on one rank is raised on all."""
    made, failure = None, ""
    try:
        made = work() if ranks.rank == 0 or not first else None
    except (OSError, CheckpointError, ArgumentError) as wrong:
        failure = f"{type(wrong).__name__}: {wrong}"
    answers = ranks.tell((made, failure))
    failures = {k: text for k, (_, text) in enumerate(answers) if text}
    if failures:
        raise CheckpointException(f"checkpoint: to {what} failed", failures)
    return [found for found, _ in answers]


def begun(
    state_dict: Mapping[str, Any],
    checkpoint_id: Path_,
    storage_writer: Any,
    planner: Any,
    ranks: Ranks,
) -> Save:
    """A save whose parts are known to all ranks."""
    check_planner("save", planner, DefaultSavePlanner)
    return Save(
        folder_of("save", checkpoint_id, storage_writer, FileSystemWriter), state_dict, ranks
    )


def folder_of(name: str, checkpoint_id: Path_, storage: Any, kind: type) -> Path:
    """The folder named by checkpoint_id, or that of a storage."""
    if storage is not None and type(storage) is not kind:
        raise ArgumentError(
            f"{name}: expected a {kind.__name__}: got {type(storage).__name__}. Checkpoints are "
            "folders."
        )
    if checkpoint_id is None and storage is None:
        raise ArgumentError(f"{name}: expected checkpoint_id or a {kind.__name__}: got neither.")
    return storage.path if checkpoint_id is None else Path(checkpoint_id)


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: Path_ = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: Group = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Write a nested dict of tensors and other values into a folder, all ranks together.

    Objects with a state_dict() of their own are asked for it.
    """
    ranks = Ranks(process_group, no_dist)
    begun(state_dict, checkpoint_id, storage_writer, planner, ranks).write()


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: Path_ = None,
    storage_writer: FileSystemWriter | None = None,
    planner: DefaultSavePlanner | None = None,
    process_group: Group = None,
    no_dist: bool = False,
    **ignored: Any,
) -> Future[None]:
    """Copy what is saved, and write the copy in a thread; where ranks are several, at once."""
    ranks = Ranks(process_group, no_dist)
    made = begun(state_dict, checkpoint_id, storage_writer, planner, ranks)
    if ranks.count > 1:  # ranks meet in their main threads alone
        done: Future[None] = Future()
        made.write()
        done.set_result(None)
        return done
    threads = ThreadPoolExecutor(1, "checkpoint")
    try:
        return threads.submit(made.staged().write)
    finally:
        threads.shutdown(wait=False)
