"""Checkpoints in Hugging Face's layout, whole or absent, checked when read.

    step-00000300/
        model.safetensors, or model-00001-of-00002.safetensors and so on
        model.safetensors.index.json   config.json   generation_config.json
        tokenizer.json   tokenizer_config.json       what other programs read
        optimizer.safetensors                        what resuming needs
        trainer.json                                 step, hashes, SHA-256 of every file

Only arrays and text pass here; what they mean is known to state.py and the loop.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from gnomon import __version__
from gnomon.errors import CheckpointError
from gnomon.models.config import Qwen3Config, from_hugging_face, to_hugging_face
from gnomon.runtime.files import flush_folder, write
from gnomon.train.tokenizer import END, END_ID

__all__ = [
    "Checkpoint",
    "Saved",
    "checkpoints",
    "fingerprint",
    "newest",
    "read",
    "read_json",
    "save",
    "to_json",
]

Arrays = dict[str, np.ndarray]
LARGEST_SHARD = 4 << 30
INDEX = "model.safetensors.index.json"
TRAINER = "trainer.json"


@dataclass(frozen=True)
class Saved:
    """What goes into a checkpoint."""

    step: int
    """How many steps are done."""
    parameters: Arrays
    optimizer: Arrays
    model: Qwen3Config
    tokenizer: str
    """The contents of tokenizer.json."""
    trainer: Mapping[str, object]
    """What the run wants to find again."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on the disk whose files are what was written."""

    folder: Path
    step: int
    trainer: Mapping[str, object]

    @property
    def model(self) -> Qwen3Config:
        """The sizes of its model."""
        return from_hugging_face(read_json(self.folder / "config.json"))

    def parameters(self) -> Arrays:
        """Every parameter by name."""
        shards = sorted(set(read_json(self.folder / INDEX)["weight_map"].values()))
        return {name: array for shard in shards for name, array in load(self.folder / shard)}

    def optimizer(self) -> Arrays:
        """Every array of the optimizer's state by name."""
        return dict(load(self.folder / "optimizer.safetensors"))


def fingerprint(arrays: Mapping[str, np.ndarray]) -> str:
    """SHA-256 over names, dtypes, shapes and bits in the order of names."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def save(run: Path, saved: Saved, keep: int) -> Path:
    """Write a checkpoint aside, flush it, rename it, and drop all but the newest `keep`."""
    folder = run / "checkpoints" / f"step-{saved.step:08d}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
        aside.mkdir()
        try:
            fill(aside, saved)
            aside.rename(folder)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        flush_folder(folder.parent)
    for old in checkpoints(run)[:-keep]:
        shutil.rmtree(old)
    return folder


def fill(folder: Path, saved: Saved) -> None:
    """Write every file of a checkpoint; the one with the sums comes last."""
    contents = {**model_files(saved.parameters, LARGEST_SHARD), **text_files(saved)}
    contents["optimizer.safetensors"] = safetensors.save(ordered(saved.optimizer))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    trainer = {**saved.trainer, "step": saved.step, "gnomon": __version__, "sha256": sums}
    contents[TRAINER] = to_json(trainer)
    for name, content in contents.items():
        write(folder / name, content)
    flush_folder(folder)


def model_files(parameters: Arrays, largest: int) -> dict[str, bytes]:
    """The weights, in as many shards as their size asks for, and the index over them."""
    parts = shards(parameters, largest)
    names = ["model.safetensors"]
    if len(parts) > 1:
        names = [f"model-{i + 1:05d}-of-{len(parts):05d}.safetensors" for i in range(len(parts))]
    where = {name: file for file, part in zip(names, parts, strict=True) for name in part}
    total = sum(array.nbytes for array in parameters.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))}
    files = {
        file: safetensors.save(part, metadata={"format": "pt"})
        for file, part in zip(names, parts, strict=True)
    }
    return {**files, INDEX: to_json(index)}


def shards(parameters: Arrays, largest: int) -> list[Arrays]:
    """Parameters in the order of names, in parts of at most so many bytes if one fits."""
    parts: list[Arrays] = [{}]
    filled = 0
    for name, array in ordered(parameters).items():
        if parts[-1] and filled + array.nbytes > largest:
            parts.append({})
            filled = 0
        parts[-1][name] = array
        filled += array.nbytes
    return parts


def text_files(saved: Saved) -> dict[str, bytes]:
    """The descriptions beside the weights."""
    ends = {"bos_token_id": END_ID, "eos_token_id": END_ID}
    tokenizer = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": END,
        "eos_token": END,
        "clean_up_tokenization_spaces": False,
        "model_max_length": saved.model.max_position_embeddings,
    }
    return {
        "config.json": to_json(to_hugging_face(saved.model)),
        "generation_config.json": to_json(ends),
        "tokenizer.json": saved.tokenizer.encode("utf-8"),
        "tokenizer_config.json": to_json(tokenizer),
    }


def ordered(arrays: Arrays) -> Arrays:
    """The arrays in the order of names, each in one piece."""
    return {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first; whether they are whole is not looked at."""
    return sorted((run / "checkpoints").glob("step-*"))


def newest(run: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest whole checkpoint of a run, and what was wrong with newer ones."""
    problems = []
    for folder in reversed(checkpoints(run)):
        try:
            return read(folder), problems
        except CheckpointError as wrong:
            problems.append(str(wrong))
    return None, problems


def read(folder: Path) -> Checkpoint:
    """A checkpoint, after comparing every file with its sum."""
    trainer = read_json(folder / TRAINER)
    for name, wanted in trainer["sha256"].items():
        path = folder / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != wanted:
            raise CheckpointError(f"checkpoint: {path} is not what was written. Delete {folder}.")
    return Checkpoint(folder, trainer["step"], trainer)


def load(path: Path) -> list[tuple[str, np.ndarray]]:
    """Names and arrays of one file."""
    try:
        return sorted(safetensors.load(path.read_bytes()).items())
    except (OSError, SafetensorError) as wrong:
        raise CheckpointError(f"checkpoint: {path} cannot be read: {wrong}.") from None


def read_json(path: Path) -> dict:
    """The contents of a JSON file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict)
    except (OSError, msgspec.DecodeError) as wrong:
        raise CheckpointError(f"checkpoint: {path} cannot be read: {wrong}.") from None


def to_json(content: object) -> bytes:
    """JSON for people: sorted and indented."""
    return msgspec.json.format(msgspec.json.encode(content, order="sorted"), indent=2) + b"\n"
