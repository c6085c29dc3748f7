"""One word per idea: no class name stands for two classes, and words that were given up stay so."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import ROOT, short, sources, tree

pytestmark = pytest.mark.unit

TWICE: dict[str, str] = {
    "Identity": "torch.nn's layer, and a way to prune nothing",
    "Event": "torch.cuda's, a point in the order of launches, and the profiler's",
    "Graph": "torch.fx's, of calls in Python, and the compiler's",
    "Interpreter": "torch.fx's, and what runs the code of pickled files",
    "Node": "torch.fx's, a call in Python, and the compiler's",
    "Store": "torch.distributed's, of keys that ranks share, and what a kernel writes",
    "Transformer": "torch.nn's model, and torch.fx's runner of a graph",
    "TreeSpec": "torch.utils._pytree's, of any leaves, and a capture's, of tensors",
}
"""Class names that PyTorch itself gives to two public classes or we to a third, and the reasons."""

RETIRED = {
    "again": "rematerialized, with_inputs, retry",
    "framed": "zero_padded, block_of",
    "frame": "block (of a program), zero_padding",
    "frames": "blocks",
    "life": "live interval",
    "lives": "live intervals",
    "room": "memory, scratch, size",
    "rooms": "memory",
    "surroundings": "closure state",
    "turn": "chunk, iteration, microbatch, phase, sample",
    "turns": "chunks, iterations, microbatches, phases, samples, rotary tables",
    "weave": "interleave",
    "woven": "interleaved",
}
"""A word that stood for several ideas, or for one that the field has a word for -> the word now."""
GONE = {
    "laid": "stored, contiguous, sharded",
    "lies": "is, is sharded, is stored, aliases",
    "lying": "layout, sharded, stored, contiguous",
    "told": "reported, sent, named; a local variable has the name of its value",
}
"""Words that are in no line of the package: word -> the words instead, in names and in prose."""
PYTHONS_FRAMES = (
    "gnomon/capture/effects.py",
    "gnomon/ir/provenance.py",
    "gnomon/distributed/ending.py",
    "gnomon/fx/proxy.py",
    "gnomon/fx/tracer.py",
    "gnomon/profiler/collect.py",
    "gnomon/profiler/python.py",
    "gnomon/runtime/comm/watch.py",
    "gnomon/interrupts.py",
    "gnomon/train/signals.py",
)
"""Files that read the frames of Python's interpreter, which are called so."""
FIRST_DECISION = 46
"""Decisions before this one, and the log, are told in the words of their day."""


def classes() -> dict[str, list[str]]:
    """The files that define each class name of the package."""
    found: dict[str, list[str]] = {}
    for path in sources():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(short(path))
    return found


def parts(name: str) -> list[str]:
    """The words of an identifier.

    >>> parts("LiveInterval"), parts("_is_far")
    (['live', 'interval'], ['is', 'far'])
    """
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    """Every name in a file, with its line, and the file's own."""
    yield 0, path.stem
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.NAME:
            yield token.start[0], token.string


def retired(path: Path) -> Iterator[str]:
    """The names in a file that hold a retired word."""
    known = {"frame", "frames"} if short(path) in PYTHONS_FRAMES else set()
    for line, name in identifiers(path):
        for word in {*parts(name)} & RETIRED.keys() - known:
            yield f"{short(path)}:{line}: {name}: say {RETIRED[word]}."


def gone(path: Path) -> Iterator[str]:
    """The places in a file, code or prose, of a word that is gone from the package."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for name in re.findall(r"\w+", line):
            for word in {*parts(name)} & GONE.keys():
                yield f"{short(path)}:{number}: {name}: say {GONE[word]}."


def pages() -> list[Path]:
    """The documentation that is told in the words of today."""
    notes = [
        note
        for note in (ROOT / "docs" / "decisions").glob("0*.md")
        if int(note.name[:4]) >= FIRST_DECISION
    ]
    docs = (ROOT / "docs").glob("*.md")
    return [*docs, *notes, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def test_a_class_name_stands_for_one_class():
    found = {name: files for name, files in classes().items() if name not in TWICE}
    twice = [f"{name}: {', '.join(files)}" for name, files in found.items() if len(files) > 1]

    assert not twice, "\n".join(twice)


def test_retired_words_are_in_no_name():
    found = [each for path in sources() for each in retired(path)]

    assert not found, "\n".join(found)


def test_words_that_are_gone_do_not_come_back():
    assert not [each for path in sources() for each in gone(path)]


def test_retired_words_are_in_no_documentation():
    """`again` is an English word like any other: what is computed again is recomputed."""
    words = "|".join(sorted(RETIRED.keys() - {"again"}))
    pattern = re.compile(rf"\b(?:{words}|computed? (?:\w+ )?again)\b", re.I)
    found = [
        f"{short(page)}:{number}: {match.group()}"
        for page in pages()
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        for match in pattern.finditer(re.sub(r"<[^>]*>|`[^`]*`", "", line))
    ]

    assert not found, "\n".join(found)


def test_a_retired_word_is_found_wherever_it_stands(tmp_path, monkeypatch):
    page = tmp_path / "weave.py"
    page.write_text("def in_turns(x):\n    return x.myLife\n", encoding="utf-8")
    monkeypatch.setattr("tests.house.ROOT", tmp_path)

    found = [each.split(": ")[1] for each in retired(page)]

    assert found == ["weave", "in_turns", "myLife"]
