"""The description of a checkpoint's folder, which is written last: without it there is none.

    checkpoint.json                          sums of every tensor, file and header, and of itself
    TOKEN.safetensors, or several, and TOKEN.safetensors.index.json
    TOKEN.objects                            what are no tensors, by gn.save

A save in a folder that has a checkpoint leaves that one whole until its own is.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from gnomon.distributed.checkpoint.reader import TensorReader, damaged
from gnomon.errors import CheckpointError
from gnomon.runtime.files import plain, publish
from gnomon.runtime.json_files import decoded, read_text

__all__ = [
    "DESCRIPTION",
    "FolderContents",
    "INDEX",
    "OBJECTS",
    "described",
    "digest_of",
    "publish_in",
]

DESCRIPTION, INDEX, OBJECTS = "checkpoint.json", "{}.safetensors.index.json", "{}.objects"
FORMAT = 1
Token = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]


class FolderContents(msgspec.Struct, frozen=True):
    """The contents of a checkpoint.json."""

    token: Token
    """The beginning of the names of its files."""
    sums: dict[str, str]
    """The sum of each tensor's elements."""
    headers: dict[str, str]
    """SHA-256 of the header of each file of tensors."""
    objects: str
    """SHA-256 of the file of objects."""
    complex: list[str] = []
    """The tensors whose last axis is two parts of complex numbers."""
    format: int = FORMAT
    own: str = ""
    """SHA-256 of everything else here."""

    def sealed(self) -> FolderContents:
        """A copy of the contents with the digest of all other fields."""
        bare = msgspec.structs.replace(self, own="")
        digest = hashlib.sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()
        return msgspec.structs.replace(self, own=digest)


def publish_in(folder: Path, contents: FolderContents) -> None:
    """Publish the description of a folder's checkpoint, and drop files of an older one."""
    publish(folder / DESCRIPTION, msgspec.json.encode(contents.sealed(), order="sorted"))
    for path in folder.iterdir():
        stem = path.name.partition(".")[0].partition("-")[0]
        ours = path.suffix in (".safetensors", ".objects", ".json") and len(stem) == len(
            contents.token
        )
        if ours and stem != contents.token and set(stem) <= set("0123456789abcdef"):
            with suppress(OSError):
                path.unlink()


def described(folder: Path) -> tuple[FolderContents, TensorReader]:
    """A checkpoint's description and its tensors, whose headers are those that were written.

    Raises CheckpointError where a folder has none, or one that changed.
    """
    path = folder / DESCRIPTION
    contents = decoded(path, read_text(path), FolderContents)
    if contents.format != FORMAT:
        raise CheckpointError(
            f"checkpoint: {path} is of format {contents.format}: this version reads {FORMAT}."
        )
    if contents.sealed() != contents:
        raise damaged(path)
    reader = TensorReader(folder / INDEX.format(contents.token))
    if reader.headers != contents.headers or reader.keys() != contents.sums.keys():
        raise damaged(path, "the headers of files beside")
    return contents, reader


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    try:
        with plain(path, os.O_NOFOLLOW) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise damaged(path) from None
