"""Download files for torch.hub and keep them in a folder."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import urlopen

import gnomon as gn
from gnomon.errors import ArgumentError

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
"""Matches the beginning of a file's hash in its name."""
PIECE = 1 << 17
_chosen: list[str] = []


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", str(Path(cache) / "torch")))


def get_dir() -> str:
    """The folder of downloaded files."""
    return _chosen[-1] if _chosen else str(Path(_get_torch_home()) / "hub")


def set_dir(d: str | os.PathLike) -> None:
    """Set the folder of downloaded files."""
    _chosen[:] = [os.path.expanduser(d)]


def download_url_to_file(
    url: str, dst: str | os.PathLike, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Download a file to a place, completely or not at all."""
    part, found = Path(f"{dst}.{os.getpid()}.part"), hashlib.sha256()
    try:
        with urlopen(url) as source, part.open("wb") as file:
            while piece := source.read(PIECE):
                found.update(piece)
                file.write(piece)
        if hash_prefix is not None and not found.hexdigest().startswith(hash_prefix):
            raise ArgumentError(
                f"download_url_to_file: {url}: its hash begins {found.hexdigest()[:8]}, not "
                f"{hash_prefix}. Fetch it again."
            )
        part.replace(dst)
    finally:
        part.unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """Load weights from a URL, downloaded once."""
    folder = Path(get_dir()) / "checkpoints" if model_dir is None else Path(model_dir)
    path = folder / (file_name or Path(urlparse(url).path).name)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        prefix = HASH_REGEX.search(path.name) if check_hash else None
        download_url_to_file(url, path, prefix and prefix[1], progress)
    return gn.load(path, map_location, weights_only=weights_only)
