"""git's bisection finds the first bad commit of a range, and a revert verifies it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gnomon.bisect.commits import first_bad
from gnomon.errors import ConfigError

pytestmark = pytest.mark.unit
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")


def repository(folder: Path, values: list[str], other: bool = False) -> list[str]:
    """Commits that each write a value; the name of each."""
    subprocess.run([*GIT, "init", "-q", "-b", "main", str(folder)], check=True)
    names = []
    for k, value in enumerate(values):
        (folder / "value").write_text(value)
        (folder / f"file {k}").write_text("one more")
        subprocess.run([*GIT, "-C", str(folder), "add", "."], check=True)
        words = [*GIT, "-C", str(folder), "commit", "-q", "-m", f"step {k}"]
        subprocess.run(words, check=True)
        head = [*GIT, "-C", str(folder), "rev-parse", "HEAD"]
        names.append(
            subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()
        )
    return names


def is_right(tree: Path) -> bool:
    """Whether a tree holds the right value."""
    return (tree / "value").read_text() == "right"


def test_the_first_bad_commit_is_found_and_reverted(tmp_path: Path):
    names = repository(tmp_path, ["right"] * 5 + ["wrong"] * 4)

    found = first_bad(tmp_path, f"{names[0]}..{names[-1]}", is_right)

    assert (found.commit, found.title, found.verified) == (names[5], "step 5", True)
    listed = subprocess.run(
        [*GIT, "-C", str(tmp_path), "worktree", "list"], capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1, "its own tree is gone"


def test_a_commit_that_others_build_on_cannot_be_reverted(tmp_path: Path):
    names = repository(tmp_path, ["right", "right", "wrong", "worse"])

    found = first_bad(tmp_path, f"{names[0]}..{names[-1]}", is_right)

    assert (found.commit, found.verified) == (names[2], None)


def test_what_is_no_range_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"bisect: --commits: expected GOOD\.\.BAD: got 'abc'"):
        first_bad(tmp_path, "abc", is_right)
    with pytest.raises(ConfigError, match="bisect: git worktree: "):
        first_bad(tmp_path, "abc..def", is_right)
