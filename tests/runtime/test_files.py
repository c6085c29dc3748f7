"""A file appears whole or not at all."""

from __future__ import annotations

import pytest

from gnomon.runtime import files

pytestmark = pytest.mark.unit


def test_publishing_replaces_a_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "deep" / "one.json"

    files.publish(path, b"first")
    files.publish(path, b"second")

    assert path.read_bytes() == b"second"
    assert list(path.parent.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "one.json"
    files.publish(path, b"first")
    monkeypatch.setattr(files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))

    with pytest.raises(OSError, match="full"):
        files.publish(path, b"second")

    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]
