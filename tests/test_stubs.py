"""What type checkers read says what there is: the .pyi files are written from the registry."""

from __future__ import annotations

import runpy

import pytest

from tests.house import PACKAGE, ROOT

STUBS = runpy.run_path(str(ROOT / "tools" / "stubs.py"))["STUBS"]


@pytest.mark.unit
@pytest.mark.parametrize("path", STUBS)
def test_the_stubs_are_what_the_registry_gives(path: str):
    kept = (PACKAGE / path).read_text(encoding="utf-8")

    assert kept == STUBS[path](), "run python tools/stubs.py"
