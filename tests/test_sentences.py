"""A docstring names its subject: it opens with a noun or verb, not What, Where, How or Which."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import short, sources, tree

RIDDLE = re.compile(r"(What|Where|How|Which)\b")
SPOKEN = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def riddles(path: Path) -> Iterator[str]:
    """The first sentences of a file's docstrings that open with a question word."""
    for node in ast.walk(tree(path)):
        said = ast.get_docstring(node) if isinstance(node, SPOKEN) else None
        if said and RIDDLE.match(said):
            yield said.splitlines()[0]


@pytest.mark.unit
def test_every_docstring_says_the_noun():
    assert not [f"{short(path)}: {said}" for path in sources() for said in riddles(path)]
