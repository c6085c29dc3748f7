"""A docstring names its subject: it opens with a noun or verb, and makes sense by itself."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import short, sources, tree

pytestmark = pytest.mark.unit

QUESTION = re.compile(r"(What|Where|How|Which)\b")
PRONOUN = re.compile(
    r"(Who|Whose|When|The same|Those|These|Of|That|This|Its?|They|Their|Them|Such|So many|As|Let"
    r"|Have|Nothing|Both|Others?)\b"
)
"""Openings that leave the subject to a neighbour, or have none."""
SPOKEN = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def opening(path: Path, refused: re.Pattern[str]) -> Iterator[str]:
    """The first lines of a file's docstrings that open with one of these words."""
    for node in ast.walk(tree(path)):
        said = ast.get_docstring(node) if isinstance(node, SPOKEN) else None
        if said and refused.match(said):
            yield said.splitlines()[0]


def test_every_docstring_says_the_noun():
    assert not [f"{short(path)}: {said}" for path in sources() for said in opening(path, QUESTION)]


def test_no_docstring_opens_with_a_pronoun_in_place_of_a_noun():
    assert not [f"{short(path)}: {said}" for path in sources() for said in opening(path, PRONOUN)]
