"""Results that all processes of one run of tests share: the first that asks makes them. Not a test.

Of them are ranks that take seconds to start, whose results many files of tests read.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Shared:
    """The folder of one run of tests, which every process of it has."""

    folder: Path


def share(config: pytest.Config, own: Path) -> None:
    """Name the folder: of a process that shares the work with others, the one above its own."""
    Shared.folder = own.parent if hasattr(config, "workerinput") else own


def once(name: str, make: Callable[[], Any]) -> Any:
    """Results that JSON holds, made by the first process that asks; others wait for it.

    A failure is nobody's result: the next that asks tries again, and fails in its own test.
    """
    path = Shared.folder / f"once-{name}.json"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            new = path.with_suffix(".new")
            new.write_text(json.dumps(make()), encoding="utf-8")
            new.replace(path)
    return json.loads(path.read_text(encoding="utf-8"))
