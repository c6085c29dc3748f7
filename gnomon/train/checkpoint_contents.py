"""Write a checkpoint's contents: every rank its own parts of tensors, then the first the rest.

When all ranks have written, the first adds the descriptions and, last, trainer.json; then the
folder gets its name. If this is interrupted, a folder of another name is left.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gnomon import __version__
from gnomon.distributed.checkpoint.files import (
    TensorFile,
    index,
    planned,
    write_headers,
    write_parts,
)
from gnomon.distributed.checkpoint.parts import DividedTensor
from gnomon.distributed.checkpoint.sums import whole_sums
from gnomon.errors import CheckpointError
from gnomon.models.config import DecoderConfig
from gnomon.models.config_json import to_hugging_face
from gnomon.ops.canonical import NUMERICS
from gnomon.runtime.files import flush_folder, make_folder, remove_folder, rename, write
from gnomon.train.checkpoint import (
    FORMAT,
    INDEX,
    TRAINER,
    checkpoints,
    sealed,
    step_number,
    to_json,
    verified,
)
from gnomon.train.tokenizer import END, END_ID

__all__ = ["CheckpointContents", "Shares", "aside_of", "publish", "write_share"]

Shares = dict[str, dict[str, tuple[int, int]]]
"""The checksum and the number of elements that a rank wrote of each tensor, by group."""


@dataclass(frozen=True)
class CheckpointContents:
    """The contents of a checkpoint, with this rank's part of the tensors."""

    step: int
    """The number of completed steps."""
    tensors: Mapping[str, Mapping[str, DividedTensor]]
    """The model's and the optimizer's tensors by name, with the parts that this rank owns."""
    model: DecoderConfig
    tokenizer: str
    """The contents of tokenizer.json."""
    trainer: Mapping[str, object]
    """The fields of trainer.json that a resumed run reads."""

    def staged(self) -> CheckpointContents:
        """A copy of these contents with copied tensors."""
        copies = {
            group: {name: tensor.staged() for name, tensor in tensors.items()}
            for group, tensors in self.tensors.items()
        }
        return replace(self, tensors=copies)

    def files(self) -> dict[str, list[TensorFile]]:
        """The tensor files of each group, equal on every rank."""
        return {group: planned(group, tensors) for group, tensors in self.tensors.items()}


def aside_of(run: Path, step: int, token: str) -> Path:
    """The temporary folder in which a checkpoint is written."""
    return run / "checkpoints" / f".step-{step:08d}.{token}"


def write_share(
    aside: Path, saved: CheckpointContents, leads: bool, proceed: Callable[[], None]
) -> Shares:
    """Write and flush this rank's part of a checkpoint; returns the checksums of its tensors."""
    # the run's own folder is not made: who deleted it did not mean a new one
    make_folder(aside.parent)
    make_folder(aside)
    shares: Shares = {}
    for group, files in saved.files().items():
        if leads:
            write_headers(aside, files)
        shares[group] = write_parts(aside, files, saved.tensors[group], proceed)
    return shares


def publish(aside: Path, saved: CheckpointContents, shares: Sequence[Shares], keep: int) -> None:
    """Complete a checkpoint that all ranks have written, rename it into place, drop old ones.

    An existing one is kept if it is valid, else moved aside.
    """
    sums = {
        group: whole_sums(tensors, [share[group] for share in shares])
        for group, tensors in saved.tensors.items()
    }
    describe(aside, saved, sums)
    folder = aside.with_name(f"step-{saved.step:08d}")
    if folder.exists():
        if is_whole(folder):
            remove_folder(aside)
            return
        rename(folder, folder.with_name(f".{folder.name}.{uuid.uuid4().hex}"))
    rename(aside, folder)
    drop_old(aside.parent.parent, saved.step, keep)


def describe(folder: Path, saved: CheckpointContents, sums: dict[str, dict[str, str]]) -> None:
    """Write all files but the tensors; trainer.json, with all checksums, comes last."""
    files = saved.files()
    texts = text_files(saved)
    for group, listed in files.items():
        texts[INDEX.format(group)] = to_json(index(listed, saved.tensors[group]))
    headers = {
        file.name: hashlib.sha256(file.header[8:]).hexdigest()
        for listed in files.values()
        for file in listed
    }
    made = {"gnomon": __version__, "numerics": NUMERICS, "format": FORMAT, "step": saved.step}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in texts.items()}
    trainer = {**saved.trainer, **made, "sha256": digests, "headers": headers, "sums": sums}
    for name, content in texts.items():
        write(folder / name, content)
    flush_folder(folder)
    write(folder / TRAINER, sealed(trainer))
    flush_folder(folder)


def drop_old(run: Path, step: int, keep: int) -> None:
    """Drop all but the newest `keep` checkpoints up to a step; failures are ignored."""
    # a later one is damaged, or the run would have gone on from there
    for old in [x for x in checkpoints(run) if step_number(x) <= step][:-keep]:
        aside = old.with_name(f".{old.name}.{uuid.uuid4().hex}")
        with suppress(OSError):
            rename(old, aside)
            remove_folder(aside)


def is_whole(folder: Path) -> bool:
    """Whether a folder contains a valid checkpoint."""
    try:
        return folder.is_dir() and bool(verified(folder))
    except CheckpointError:
        return False


def text_files(saved: CheckpointContents) -> dict[str, bytes]:
    """The contents of the text files of a checkpoint, by name."""
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
