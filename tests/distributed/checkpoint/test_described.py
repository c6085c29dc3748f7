"""The description of a checkpoint is sealed, and names its files alone."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from gnomon.distributed.checkpoint.described import FolderContents, described, digest_of, publish_in
from gnomon.errors import CheckpointError

pytestmark = pytest.mark.unit
TOKEN = "0123456789abcdef" * 2


def test_a_seal_covers_everything_else():
    told = FolderContents(TOKEN, {"x": "1"}, {}, "")

    assert told.sealed() == told.sealed().sealed()
    assert told.sealed().own != FolderContents(TOKEN, {"x": "2"}, {}, "").sealed().own


def test_files_of_another_save_are_dropped_and_no_others(tmp_path: Path):
    other = TOKEN[::-1]
    kept = ["notes.objects", "model.safetensors", f"{TOKEN}.objects", f"{TOKEN}-00001.safetensors"]
    for name in [*kept, f"{other}.objects", f"{other}-00001-of-00002.safetensors"]:
        (tmp_path / name).write_bytes(b"")
    publish_in(tmp_path, FolderContents(TOKEN, {}, {}, ""))

    assert {x.name for x in tmp_path.iterdir()} == {*kept, "checkpoint.json"}


def test_formats_of_the_future_are_named(tmp_path: Path):
    publish_in(tmp_path, FolderContents(TOKEN, {}, {}, "", format=2))

    with pytest.raises(CheckpointError, match="is of format 2: this version reads 1"):
        described(tmp_path)


def test_digests_are_of_plain_files(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"a")

    assert digest_of(tmp_path / "a") == hashlib.sha256(b"a").hexdigest()
    with pytest.raises(CheckpointError, match="is not what was written"):
        digest_of(tmp_path / "b")
