"""Everything that is written goes through one disk, whose calls are counted."""

from __future__ import annotations

import errno

import pytest

from gnomon.runtime import files
from tests.faulty_disks import FullDisk, WatchedDisk

pytestmark = pytest.mark.unit


def test_publishing_is_five_calls(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "disk", WatchedDisk())

    files.publish(tmp_path / "a", b"content")

    assert files.disk.names == ["open", "write", "flush", "rename", "flush"]
    assert (tmp_path / "a").read_bytes() == b"content"


def test_a_folder_is_removed_with_everything_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "disk", WatchedDisk())
    folder = tmp_path / "a"
    files.make_folder(folder)
    files.make_folder(folder)
    (folder / "deep").mkdir()
    (folder / "deep" / "file").touch()
    (folder / "link").symlink_to(tmp_path)

    files.remove_folder(folder)

    assert files.disk.names[2:] == ["remove_file", "remove_folder", "remove_file", "remove_folder"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", range(5))
def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_the_old_one(
    tmp_path, monkeypatch, call
):
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(files, "disk", FullDisk(call))

    with pytest.raises(OSError, match="No space left") as raised:
        files.publish(tmp_path / "a", b"new")

    assert raised.value.errno == errno.ENOSPC
    assert (tmp_path / "a").read_bytes() == (b"old" if call < 4 else b"new")
    assert [x.name for x in tmp_path.iterdir()] == ["a"]


def test_a_large_content_is_written_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "disk", WatchedDisk())
    monkeypatch.setattr(files, "LARGEST_WRITE", 10)

    files.write(tmp_path / "a", [b"x" * 25, bytearray(b"y" * 5)])

    assert files.disk.names.count("write") == 4
    assert (tmp_path / "a").read_bytes() == b"x" * 25 + b"y" * 5
