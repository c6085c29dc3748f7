"""The house tests' own tools find what they should find."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house import ORDER, layer, module, place, python_blocks, sources
from tests.test_layers import walk
from tests.test_sizes import nesting, parameters

pytestmark = pytest.mark.unit

HERE = Path(__file__)


def test_a_golden_text_is_compared_with_what_was_kept(golden):
    assert golden == "one\ntwo"


def test_a_golden_text_shows_what_changed(golden, tmp_path):
    kept = type(golden)(tmp_path / "kept.txt", update=True)
    assert kept == "one\ntwo"

    now = type(golden)(tmp_path / "kept.txt", update=False)

    assert now != "one\nthree"
    assert now.explain()[-2:] == ["-two", "+three"]


def test_random_numbers_follow_from_the_name_of_the_test(rng):
    assert rng.integers(1000, size=3).tolist() == [241, 652, 964]


def test_every_layer_is_named_once():
    assert len(ORDER) == len(set(ORDER))
    assert place("gnomon.ir.node") < place("gnomon.ops.scalars") < place("gnomon.compiler.pipeline")
    assert place("gnomon.compiler.pipeline") < place("gnomon") < place("gnomon.nn.layers")
    assert place("gnomon.elsewhere") is None


def test_a_file_knows_its_module_and_layer():
    node = next(path for path in sources() if path.parts[-2:] == ("ir", "node.py"))

    assert module(node) == "gnomon.ir.node"
    assert layer(module(node)) == "ir"
    assert layer("gnomon") == "gnomon"


def test_imports_are_found_where_they_hide():
    program = """
import gnomon.errors
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from gnomon.ir.node import Node
def late():
    import torch.nn
"""
    found = {x.name: x for x in walk(HERE, ast.parse(program))}

    assert found["gnomon.errors"].ours
    assert not found["gnomon.errors"].inside
    assert found["gnomon.ir.node"].typing
    assert found["torch.nn"].inside
    assert not found["torch.nn"].ours


def test_blocks_are_counted_and_elif_is_no_deeper():
    flat = "if a:\n 1\nelif b:\n 2\nelif c:\n 3\n"
    deep = "for a in b:\n with c:\n  while d:\n   if e:\n    1\n"

    assert nesting(ast.parse(flat)) == 1
    assert nesting(ast.parse(deep)) == 4
    assert nesting(ast.parse("if a:\n 1\nelse:\n if b:\n  1\n 2\n")) == 2


def test_parameters_are_counted_without_the_object():
    method = ast.parse("def f(self, a, /, b, *rest, c=1, **more): ...").body[0]

    assert parameters(method) == 3


def test_python_blocks_of_a_page_are_found_with_their_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("word\n```python\na = 1\n```\n```py\nimport torch\n```\n", encoding="utf-8")

    assert list(python_blocks(page)) == [(3, "a = 1\n")]
