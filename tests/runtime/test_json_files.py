"""JSON of files: decoded to a kind, refused by name, written for people."""

from __future__ import annotations

import pytest

from gnomon.errors import CheckpointError
from gnomon.runtime.json_files import decoded, read_text, to_json, unreadable

pytestmark = pytest.mark.unit


def test_what_was_written_is_read(tmp_path):
    path, value = tmp_path / "x.json", {"b": [1, 2.5, None], "a": "é"}
    path.write_bytes(to_json(value))

    assert decoded(path, read_text(path), dict) == value
    assert path.read_text(encoding="utf-8").startswith('{\n  "a": "é",\n  "b": [')
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b'{"a": "x"}', b"[" * 100_000])
def test_other_contents_are_refused_by_name(content, tmp_path):
    with pytest.raises(CheckpointError, match=r"checkpoint: .*x\.json cannot be read: "):
        decoded(tmp_path / "x.json", content, dict[str, int])


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path):
    with pytest.raises(CheckpointError, match=r"none\.json cannot be read: No such file"):
        read_text(tmp_path / "none.json")
    assert str(unreadable(tmp_path, ValueError("it is odd"))).endswith("cannot be read: it is odd.")
