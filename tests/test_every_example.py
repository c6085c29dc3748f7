"""Whatever is shown runs: doctests of the package, code in README and docs, examples, the tour.

Each code block of a page is a program by itself. A block of somebody else's code is fenced ```py.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.children import environment
from tests.house import ROOT, module, python_blocks, short, sources, tree

PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
EXAMPLES = tuple(sorted((ROOT / "examples").glob("*.py")))
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
LONGEST_EXAMPLE = 60


def with_examples() -> list[Path]:
    """Source files that show something."""
    return [path for path in sources() if ">>> " in path.read_text(encoding="utf-8")]


@cache
def everybodys_names() -> dict[str, object]:
    """What a user has after `from gnomon import *` and `import gnomon as gn`."""
    gnomon = importlib.import_module("gnomon")
    return {
        "gn": gnomon,
        **{name: getattr(gnomon, name) for name in getattr(gnomon, "__all__", ())},
    }


def names_in(path: Path) -> dict[str, object]:
    """What a file's doctests see: an op is shown as its user calls it, the rest as it is."""
    own = vars(importlib.import_module(module(path)))
    if short(path).startswith("gnomon/ops"):
        return {**own, **everybodys_names()}
    return {**everybodys_names(), **own} if short(path).startswith("gnomon/nn") else dict(own)


@pytest.mark.parametrize("path", with_examples(), ids=short)
def test_what_a_docstring_shows_is_what_happens(path):
    found = importlib.import_module(module(path))
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    said: list[str] = []

    for case in doctest.DocTestFinder(exclude_empty=True).find(found, globs=names_in(path)):
        runner.run(case, out=said.append)

    assert not runner.failures, "".join(said)


def run_alone(program: Path, folder: Path, *words: Path) -> None:
    """Run a file as a user would: a process of its own, in a folder of its own."""
    run = subprocess.run(
        [sys.executable, "-W", "error", str(program), *map(str, words)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr


RUN_EACH = """import runpy
import sys

for block in sys.argv[1:]:
    runpy.run_path(block, run_name="__main__")
"""


@pytest.mark.parametrize("page", [p for p in PAGES if list(python_blocks(p))], ids=short)
def test_each_block_of_a_page_runs_by_itself(page, tmp_path):
    """One process runs the blocks, each in its own namespace; files that they write stay."""
    program, blocks = tmp_path / "run_each.py", []
    program.write_text(RUN_EACH, encoding="utf-8")
    for line, text in python_blocks(page):
        blocks.append(tmp_path / f"{page.stem.replace('-', '_')}_{line}.py")
        blocks[-1].write_text("\n" * (line - 1) + text, encoding="utf-8")

    run_alone(program, tmp_path, *blocks)


@pytest.mark.parametrize("example", EXAMPLES, ids=short)
def test_an_example_runs_and_fits_on_a_screen(example, tmp_path):
    assert len(example.read_text(encoding="utf-8").splitlines()) <= LONGEST_EXAMPLE

    run_alone(example, tmp_path)


@pytest.mark.unit
@pytest.mark.parametrize("page", PAGES, ids=short)
def test_a_page_links_only_to_what_is_there(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert not [link for link in links if not (page.parent / link).exists()]


TODAY = [p for p in PAGES if p.parent.name not in ("decisions", "log")]
"""Pages that tell of now; decisions and the log tell of their day."""
OURS = re.compile(
    r"`((?:[\w-]+/)*[\w-]+\.py|(?:gnomon|tests|tools|docs|scripts|examples)/[\w/.-]*)`"
)
"""A file or folder of ours that a page names."""


@pytest.mark.unit
@pytest.mark.parametrize("page", TODAY, ids=short)
def test_a_page_names_only_files_that_are_there(page):
    named = OURS.findall(page.read_text(encoding="utf-8"))

    assert not [
        x for x in named if not any((ROOT / at / x).exists() for at in ("", "gnomon", "tests"))
    ]


@pytest.mark.unit
@pytest.mark.parametrize("path", sources(), ids=short)
def test_a_file_names_only_neighbours_that_are_there(path):
    opening = ast.get_docstring(tree(path)) or ""
    named = re.findall(r"(?<![\w/.])((?:[\w-]+/)*[a-z_]+\.py)\b", opening)

    assert not [x for x in named if not any((at / x).exists() for at in near(path))]


def near(path: Path) -> tuple[Path, ...]:
    """The folders that a file's opening may leave out of a name."""
    return ROOT, ROOT / "gnomon", *list(path.parents)[: len(path.relative_to(ROOT).parents) - 1]


@pytest.mark.unit
def test_every_decision_is_in_the_list():
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")

    assert not [note.name for note in folder.glob("0*.md") if f"({note.name})" not in listed]


def test_the_tour_names_files_that_exist_and_hold_what_it_says():
    text = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    stops = re.findall(r"^\d+\. .*?`(gnomon/[\w/]+\.py)`(.*?)(?=^\d+\. |^#|\Z)", text, re.M | re.S)

    named = re.findall(r"`(gnomon/[\w/]+\.py)`", text)

    assert len(stops) == 27
    assert not [file for file in named if not (ROOT / file).exists()]
    for file, told in stops:
        source = (ROOT / file).read_text(encoding="utf-8")
        called = re.findall(r"`(\w+)\(\)`|`class (\w+)`", told)
        for name in filter(None, (x for pair in called for x in pair)):
            assert re.search(rf"^\s*(def|class) {name}\b", source, re.M), f"{file}: {name}"
