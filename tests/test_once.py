"""Results that processes of one run of tests share: made once, and by the next where it failed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.children import ROOT
from tests.once import Shared, once, share

ASK = """
import sys, time
from pathlib import Path
from tests.once import Shared, once

Shared.folder = Path(sys.argv[1])


def make():
    with (Shared.folder / "made").open("a") as file:
        file.write("x")
    time.sleep(0.05)
    return [1, "two"]


print(once("numbers", make))
"""


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of this test's own."""
    monkeypatch.setattr(Shared, "folder", tmp_path)
    return tmp_path


def test_processes_that_ask_at_one_time_have_one_result(tmp_path: Path):
    words = [sys.executable, "-c", ASK, str(tmp_path)]
    asking = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(3)]

    assert [p.communicate(timeout=60)[0] for p in asking] == [b"[1, 'two']\n"] * 3
    assert (tmp_path / "made").read_text() == "x"


def test_a_failure_is_nobodys_result(apart: Path):
    with pytest.raises(ZeroDivisionError):
        once("number", lambda: 1 // 0)

    assert once("number", lambda: 3) == 3
    assert once("number", lambda: 4) == 3
    assert once("another", lambda: 4) == 4


def test_the_folder_is_of_one_run_of_tests(apart: Path):
    with_others, by_itself = SimpleNamespace(workerinput={}), SimpleNamespace()

    share(cast(Any, with_others), apart / "of one")
    assert Shared.folder == apart
    share(cast(Any, by_itself), apart / "of one")
    assert Shared.folder == apart / "of one"
