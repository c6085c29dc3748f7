"""Members of a zip, read or mapped."""

from __future__ import annotations

import zipfile

import pytest

from gnomon.serialization.members import Members


@pytest.mark.parametrize("mapped", [False, True])
def test_a_member_can_be_written_to_and_the_file_keeps_its_own(mapped, tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a", b"abc")
        archive.writestr("folder/b", b"")

    with (tmp_path / "x.zip").open("rb") as file:
        members = Members(file, mapped)
        found = members.array("a")
        found[0] = 0

        assert members.names == {"a", "folder/b"}
        assert found.tobytes() == b"\0bc"
        assert members.read("a") == b"abc"
        assert members.array("folder/b").size == 0


def test_what_is_compressed_is_not_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(1000))

    with (tmp_path / "x.zip").open("rb") as file, pytest.raises(ValueError, match="compressed"):
        Members(file).array("a")
