"""What child processes of tests are given: the package, and each other's programs. Not a test."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def environment(**more: str) -> dict[str, str]:
    """Variables of a child that changes no part of the compiler: our own, and the package's place.

    It may find the programs of such children before it, which a test's own process may not.
    """
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, "GNOMON_KEEP_PROGRAMS": "1", **more}
