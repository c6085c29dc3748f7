"""A profile is read as it was written, and nothing else is taken for one."""

import msgspec
import pytest

from gnomon.errors import ConfigError
from gnomon.profiler.store import PROFILE, read_profile, write_profile
from tests.profiler.synthetic import made_up

pytestmark = pytest.mark.unit


def test_a_profile_is_read_from_its_file_or_its_folder(tmp_path):
    profile = made_up()

    write_profile(profile, tmp_path / "out" / PROFILE)

    assert read_profile(tmp_path / "out") == profile
    assert read_profile(tmp_path / "out" / PROFILE) == profile


def test_another_version_is_refused(tmp_path):
    file = tmp_path / PROFILE
    file.write_bytes(msgspec.json.encode({"version": 99, "machine": 7}))

    with pytest.raises(ConfigError, match="has version 99, this gnomon reads version 2"):
        read_profile(file)


def test_what_is_not_a_profile_is_refused(tmp_path):
    file = tmp_path / PROFILE
    for content in (b"", b"[1]", b'{"version": 2}', b'{"version": "x"}'):
        file.write_bytes(content)

        with pytest.raises(ConfigError, match="is not a profile"):
            read_profile(tmp_path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_profile(tmp_path / "nothing")
