"""Checkpoints in Hugging Face's layout, complete or absent, verified when read.

    step-00000300/
        model.safetensors, or model-00001-of-00002.safetensors and so on
        model.safetensors.index.json   config.json   generation_config.json
        tokenizer.json   tokenizer_config.json       what other programs read
        optimizer.safetensors, or several, and their index      what resuming needs
        trainer.json      step, configuration, a sum of every tensor, file and header: written last

Nothing in it depends on the mesh that wrote it; checkpoint_writer.py writes it. Even a file with
the right sum is validated: whoever changes a file can change its sum.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from gnomon.distributed.checkpoint.reader import TensorReader, damaged
from gnomon.errors import CheckpointError
from gnomon.models.config import DecoderConfig
from gnomon.models.registry import from_hugging_face
from gnomon.runtime.files import plain
from gnomon.runtime.json_files import decoded, read_text, to_json

__all__ = [
    "Checkpoint",
    "FORMAT",
    "INDEX",
    "TRAINER",
    "checkpoints",
    "fingerprint",
    "newest",
    "open_checkpoint",
    "read_json",
    "sealed",
    "step_number",
    "to_json",
    "verified",
]

FORMAT = 2
INDEX = "{}.safetensors.index.json"
"""The name of the index of the model's tensors, and of the optimizer's."""
TRAINER = "trainer.json"
STEP = re.compile(r"step-(\d{8,18})")
GROUPS = ("model", "optimizer")
"""The prefixes of the names of tensor files."""

FileName = Annotated[str, Meta(pattern=r"^\w[\w.-]*\Z")]


class Recorded(msgspec.Struct):
    """The fields of a trainer.json that are checked."""

    step: Annotated[int, Meta(ge=0, le=10**18)]
    sha256: dict[FileName, str]
    """SHA-256 of each text file."""
    format: int = 1
    headers: dict[FileName, str] = {}
    """SHA-256 of the header of each file of tensors."""
    sums: dict[str, dict[str, str]] = {}
    """The checksum of each tensor's elements, by group."""
    data_hash: str = ""
    config: dict[str, object] | None = None
    branches: list[dict[str, object]] = []


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk."""

    folder: Path
    step: int
    trainer: Mapping[str, object]

    @property
    def model(self) -> DecoderConfig:
        """The model's configuration."""
        return from_hugging_face(read_json(self.folder / "config.json"))

    def parameters(self) -> TensorReader:
        """All parameters by name, read on access."""
        return TensorReader(self.folder / INDEX.format("model"))

    def optimizer(self) -> TensorReader:
        """All arrays of the optimizer's state by name, read on access."""
        return TensorReader(self.folder / INDEX.format("optimizer"))


def fingerprint(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, dtypes, shapes and bits of arrays, in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def sealed(trainer: Mapping[str, object]) -> bytes:
    """The content of a trainer.json, with a checksum of the rest of itself."""
    sums = trainer["sha256"]
    assert isinstance(sums, dict), "trainer: the sums are by file."
    others = {name: total for name, total in sums.items() if name != TRAINER}
    own = hashlib.sha256(to_json({**trainer, "sha256": others})).hexdigest()
    return to_json({**trainer, "sha256": {**others, TRAINER: own}})


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first, without checking that they are valid."""
    found = (run / "checkpoints").glob("step-*")
    return sorted((x for x in found if STEP.fullmatch(x.name) and x.is_dir()), key=step_number)


def step_number(folder: Path) -> int:
    """The step in a checkpoint's folder name; -1 for any other name."""
    found = STEP.fullmatch(folder.name)
    return int(found[1]) if found else -1


def newest(run: Path) -> tuple[Checkpoint | None, list[str]]:
    """The latest valid checkpoint of a run, and the problems of later ones."""
    problems = []
    for folder in reversed(checkpoints(run)):
        try:
            return verified(folder), problems
        except CheckpointError as wrong:
            problems.append(str(wrong))
    return None, problems


def open_checkpoint(folder: Path) -> Checkpoint:
    """A checkpoint whose trainer.json is verified; its tensors are not."""
    return opened_with_record(folder)[0]


def opened_with_record(folder: Path) -> tuple[Checkpoint, Recorded]:
    """A checkpoint and the checksums of its trainer.json, whose own checksum is verified."""
    path = folder / TRAINER
    trainer = read_json(path)
    record = decoded(path, to_json(trainer), Recorded)
    if record.format != FORMAT:
        raise CheckpointError(
            f"checkpoint: {path} is of format {record.format}: this version reads format {FORMAT}. "
            "Go on with the gnomon that it names, or start a new run."
        )
    if sealed(trainer) != to_json(trainer) or step_number(folder) not in (-1, record.step):
        raise damaged(path)
    return Checkpoint(folder, record.step, trainer), record


def verified(folder: Path) -> Checkpoint:
    """Open a checkpoint after verifying all checksums, and its name against the step."""
    found, record = opened_with_record(folder)
    for name, wanted in record.sha256.items():
        if name != TRAINER and sum_of(folder / name) != wanted:
            raise damaged(folder / name)
    headers: dict[str, str] = {}
    readers = {group: TensorReader(folder / INDEX.format(group)) for group in GROUPS}
    for group, reader in readers.items():
        headers |= reader.headers
        refuse_other_headers(folder, record.headers, reader.headers)
        reader.verify(record.sums.get(group, {}))
    if headers.keys() != record.headers.keys():
        raise damaged(folder / TRAINER)
    return found


def refuse_other_headers(folder: Path, wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Refuse file headers whose checksums differ from the recorded ones."""
    for name, digest in found.items():
        if wanted.get(name) != digest:
            raise damaged(folder / name, "the header")


def sum_of(path: Path) -> str:
    """SHA-256 of a file; empty if it cannot be read."""
    try:
        with plain(path, os.O_NOFOLLOW) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def read_json(path: Path) -> dict:
    """The contents of a JSON file."""
    return decoded(path, read_text(path), dict)
