"""torch.hub: entry points in a repository's hubconf, local or fetched from GitHub.

A repository's code runs in this process. A fetched one must be trusted: by `trust_repo=True`, by
its owner, or by an answer on the terminal, which is kept.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from gnomon.drop_in.hub_files import (
    HASH_REGEX,
    download_url_to_file,
    get_dir,
    load_state_dict_from_url,
    set_dir,
)
from gnomon.drop_in.hub_files import (
    _get_torch_home as _get_torch_home,
)
from gnomon.errors import ArgumentError

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

GITHUB = "https://github.com"
OWNERS = frozenset({"facebookresearch", "facebookincubator", "pytorch", "fairinternal"})
"""Owners of repositories that PyTorch trusts."""
ADDRESS = re.compile(r"(\w[\w.-]*)/(\w[\w.-]*)(?::(\w[\w./-]*))?")
ANSWERS = {"y": True, "yes": True, "": False, "n": False, "no": False}


def load(
    repo_or_dir: str | os.PathLike,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = None,
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Call an entry point of a repository: `load("owner/name:ref", "model", ...)`."""
    if source not in ("github", "local"):
        raise ArgumentError(
            f"hub.load: Unknown source: {source!r}. Allowed values: 'github' | 'local'."
        )
    if source == "github":
        folder = fetch_repo(str(repo_or_dir), trust_repo, force_reload, verbose)
    else:
        folder = Path(repo_or_dir)
    with on_path(folder):
        return entry_of(hubconf(folder), model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
    verbose: bool = True,
) -> Any:
    """The names of the entry points of a repository on GitHub."""
    folder = fetch_repo(github, trust_repo, force_reload, verbose)
    with on_path(folder):
        found = vars(hubconf(folder))
    return [name for name, x in found.items() if callable(x) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = None,
) -> str | None:
    """The docstring of an entry point of a repository on GitHub."""
    folder = fetch_repo(github, trust_repo, force_reload, True)
    with on_path(folder):
        return entry_of(hubconf(folder), model).__doc__


@contextmanager
def on_path(folder: Path) -> Any:
    """Put a repository's folder on sys.path inside a `with`."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def hubconf(folder: Path) -> ModuleType:
    """Import the `hubconf.py` of a folder."""
    path = folder / "hubconf.py"
    if not path.is_file():
        raise ArgumentError(f"hub: {path}: no such file. Name a repository that has a hubconf.py.")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["hubconf"] = module
    spec.loader.exec_module(module)
    return module


def entry_of(module: ModuleType, name: str) -> Callable[..., Any]:
    """The entry point of a name; ArgumentError if a package that it needs is missing."""
    needed = getattr(module, "dependencies", None) or []
    lacking = [x for x in needed if importlib.util.find_spec(x) is None]
    if lacking:
        raise ArgumentError(f"hub: Missing dependencies: {', '.join(lacking)}. Install them.")
    found = getattr(module, name, None)
    if not callable(found):
        raise ArgumentError(f"hub: Cannot find callable {name} in hubconf.")
    return found


# what is fetched


def fetch_repo(address: str, trust: bool | str | None, force_reload: bool, verbose: bool) -> Path:
    """The folder of a repository, downloaded if it is not there yet."""
    found = ADDRESS.fullmatch(address)
    if found is None:
        raise ArgumentError(
            f"hub: {address!r} is no repository. Write 'owner/name' or 'owner/name:ref'."
        )
    owner, name, ref = found.groups()
    root = Path(get_dir())
    ref = ref or default_branch(owner, name, root)
    folder = root / f"{owner}_{name}_{ref.replace('/', '_')}"
    check_trusted(owner, name, trust, root)
    if folder.exists() and not force_reload:
        if verbose:
            print(f"Using cache found in {folder}", file=sys.stderr)
        return folder
    root.mkdir(parents=True, exist_ok=True)
    archive = root / f"{folder.name}.{os.getpid()}.zip"
    url = f"{GITHUB}/{owner}/{name}/zipball/{ref}"
    if verbose:
        print(f'Downloading: "{url}" to {archive}', file=sys.stderr)
    try:
        download_url_to_file(url, archive)
        unpack(archive, folder)
    finally:
        archive.unlink(missing_ok=True)
    return folder


def default_branch(owner: str, name: str, root: Path) -> str:
    """The default branch, main or master; without a network, one that was fetched before."""
    try:
        with urlopen(f"{GITHUB}/{owner}/{name}/tree/main/"):
            return "main"
    except HTTPError as error:
        if error.code == 404:
            return "master"
        raise
    except OSError:
        for branch in ("main", "master"):
            if (root / f"{owner}_{name}_{branch}").exists():
                return branch
        raise


def check_trusted(owner: str, name: str, trust: bool | str | None, root: Path) -> None:
    """Refuse a repository that is not trusted; record one that the user trusts."""
    if trust not in (True, False, None, "check"):
        raise ArgumentError(f"hub: trust_repo is True, False, None or 'check': got {trust!r}.")
    kept, repository = root / "trusted_list", f"{owner}_{name}"
    known = kept.read_text().split() if kept.exists() else []
    if repository in known:
        return
    is_known = owner in OWNERS or any(root.glob(f"{repository}_*/"))
    if trust is not True and (trust is False or not is_known):
        words = (
            f"The repository {owner}/{name} does not belong to the list of trusted repositories "
            "and as such cannot be downloaded. Do you trust this repository and wish to add it to "
            "the trusted list of repositories (y/N)?"
        )
        if not ANSWERS.get(input(words).strip().lower(), False):
            raise ArgumentError(f"hub: Untrusted repository {owner}/{name}. Give trust_repo=True.")
    root.mkdir(parents=True, exist_ok=True)
    with kept.open("a") as file:
        file.write(f"{repository}\n")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive's only folder to a place, completely or not at all."""
    aside = folder.with_name(f"{folder.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(archive) as file:
            for member in file.namelist():
                place = (aside / member).resolve()
                if not place.is_relative_to(aside.resolve()):
                    raise ArgumentError(f"hub: {archive.name}: {member!r} leaves its folder.")
            file.extractall(aside)
        tops = [x for x in aside.iterdir() if x.is_dir()]
        if len(tops) != 1:
            raise ArgumentError(f"hub: {archive.name} holds {len(tops)} folders, not one.")
        shutil.rmtree(folder, ignore_errors=True)
        tops[0].replace(folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
