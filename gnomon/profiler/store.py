"""Profiles as JSON files with a version."""

from __future__ import annotations

from pathlib import Path

import msgspec

from gnomon.errors import ConfigError, clipped
from gnomon.profiler.model import VERSION, Profile
from gnomon.runtime.files import NOT_JSON, publish, read

__all__ = ["PROFILE", "read_profile", "write_profile"]

PROFILE = "profile.json"
"""The name of a profile's file in a folder."""


class Head(msgspec.Struct):
    """The version in a profile's file, read before the rest."""

    version: int = 0


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile to a file."""
    publish(path, msgspec.json.encode(profile))


def read_profile(path: Path) -> Profile:
    """Read a profile from its file or its folder."""
    file = path / PROFILE if path.is_dir() else path
    try:
        content = read(file)
    except OSError as missing:
        raise ConfigError(
            f"profile: {file}: {missing.strerror}. `gnomon profile --out {path}` writes one."
        ) from missing
    try:
        version = msgspec.json.decode(content, type=Head).version
        if version == VERSION:
            return msgspec.json.decode(content, type=Profile)
    except NOT_JSON as wrong:
        raise ConfigError(f"profile: {file} is not a profile: {clipped(wrong)}.") from wrong
    raise ConfigError(
        f"profile: {file} has version {version}, this gnomon reads version {VERSION}. "
        "Write it again with this gnomon."
    )
