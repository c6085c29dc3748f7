"""The API reference of the site has a page for each namespace, with each of its names."""

from __future__ import annotations

import importlib
import re
import runpy
from functools import cache
from typing import Any

import pytest

from tests.house import ROOT

pytestmark = pytest.mark.unit


@cache
def reference() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "reference.py"))


def test_every_namespace_has_a_page_with_its_names():
    for name in (each for each in reference()["NAMESPACES"] if each != "gnomon.Tensor"):
        listed = reference()["names_of"](importlib.import_module(name))
        text = reference()["page"](name)

        assert text.startswith(f"# {name}\n"), name
        assert listed, name
        assert re.findall(r"^### .* \{ #(.*) \}$", text, re.M) == [f"{name}.{x}" for x in listed]


def test_signatures_show_tensors_and_no_nodes():
    assert "relu(x: Tensor) -> Tensor" in reference()["page"]("gnomon.Tensor")
    assert "Node" not in reference()["page"]("gnomon.linalg")


def test_a_page_is_the_same_in_each_build():
    assert " at 0x" not in reference()["page"]("gnomon")


def test_characters_of_prose_are_no_marks_of_markdown():
    shown = reference()["markdown"]("Takes *args of `a_b`.\n\n>>> 1\n1\n\n>>> 2\n2\n\nDone.")

    assert shown == ("Takes \\*args of `a_b`.\n\n```pycon\n>>> 1\n1\n\n>>> 2\n2\n```\n\nDone.")


def test_every_page_of_the_documentation_is_in_the_menu_or_left_out_on_purpose():
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = [x.relative_to(ROOT / "docs").as_posix() for x in (ROOT / "docs").rglob("*.md")]

    assert not [x for x in pages if f": {x}\n" not in menu and not x.startswith("decisions/0")]
