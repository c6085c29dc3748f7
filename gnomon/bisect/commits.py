"""The first commit of a range under which a script is wrong: git's bisection, and a revert."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon.errors import ConfigError

__all__ = ["Culprit", "first_bad"]

FOUND = re.compile(r"^([0-9a-f]{7,64}) is the first bad commit", re.M)


@dataclass(frozen=True)
class Culprit:
    """A commit, and whether the last one is right again without it."""

    commit: str
    title: str
    verified: bool | None
    """None where it cannot be reverted there."""


def first_bad(repository: Path, commits: str, is_right: Callable[[Path], bool]) -> Culprit:
    """The first commit of GOOD..BAD whose tree is wrong.

    is_right: says so of a folder that holds a commit's tree.
    """
    good, dots, bad = commits.partition("..")
    if not (good and dots and bad):
        raise ConfigError(f"bisect: --commits: expected GOOD..BAD: got {commits!r}.")
    with worktree(repository, bad) as tree:
        output = git(tree, "bisect", "start", bad, good)
        while not (found := FOUND.search(output)):
            output = git(tree, "bisect", "good" if is_right(tree) else "bad")
            if "only 'skip'ped" in output:
                raise ConfigError(f"bisect: --commits {commits}: git finds no first one: {output}")
        commit = found.group(1)
        git(tree, "bisect", "reset", bad)
        title = git(tree, "log", "-1", "--format=%s", commit).strip()
        return Culprit(commit, title, is_right_without(tree, commit, is_right))


def is_right_without(tree: Path, commit: str, is_right: Callable[[Path], bool]) -> bool | None:
    """Whether a tree is right where a commit is reverted; None where that cannot be done."""
    try:
        git(tree, "revert", "--no-commit", commit)
    except ConfigError:
        return None
    return is_right(tree)


@contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Path]:
    """A commit's tree in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git(repository, "worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            git(repository, "worktree", "remove", "--force", str(tree))


def git(folder: Path, *words: str) -> str:
    """The output of git. Errors: ConfigError with git's own words."""
    made = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
    if made.returncode:
        raise ConfigError(f"bisect: git {words[0]}: {(made.stderr or made.stdout).strip()}")
    return made.stdout
