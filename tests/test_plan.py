"""Programs on disk: found again as they were, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gnomon import plan
from gnomon.dtypes import float32
from gnomon.executable import compile_graph
from gnomon.ir.node import Arena, Graph
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.scalars import exp
from gnomon.runtime.cache import fingerprint
from gnomon.settings import Settings, current, override
from tests.compiled import PIPELINE, execute

ARRAYS = [np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((4, 5), np.float32)]


def graph(power: float = 0.1) -> Graph:
    """A product and a sum of exponentials."""
    arena = Arena()
    x, w = (arena.input(a.shape, float32) for a in ARRAYS)
    y = exp(contract("ab,bc->ac", x, w) * power)
    return Graph((x, w), (y, reduce("add", y, (0,))))


@pytest.fixture
def settings(tmp_path) -> Iterator[Settings]:
    """Programs are kept, in a folder of their own."""
    with override(cache=True, keep_programs=True, cache_dir=str(tmp_path)):
        yield current()


def entries(folder: Path) -> list[Path]:
    """The programs in a cache."""
    return [x for x in (folder / "programs").glob("??/*") if not x.name.startswith(".")]


def test_a_program_is_found_again_without_passes(settings, monkeypatch):
    first = compile_graph(graph(), settings)
    monkeypatch.setattr(PIPELINE, "kernels_of", None)

    second = compile_graph(graph(), settings)

    assert second.program.steps == first.program.steps
    assert second.memory == first.memory
    one, other = (execute(made, graph(), ARRAYS) for made in (first, second))
    assert [x.tobytes() for x in one] == [x.tobytes() for x in other]


def test_its_kernels_are_told_all_the_same(settings):
    first, second = compile_graph(graph(), settings), compile_graph(graph(), settings)

    assert [k.name for k in second.kernels] == [k.name for k in first.kernels]


def test_another_graph_is_another_program(settings, tmp_path):
    compile_graph(graph(), settings)
    compile_graph(graph(0.2), settings)

    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("what", ["program", "object"])
def test_what_is_damaged_is_made_anew(settings, tmp_path, what, monkeypatch):
    first = compile_graph(graph(), settings)
    folder = tmp_path / f"{what}s"
    for entry in folder.glob("??/*"):
        entry.write_bytes(entry.read_bytes()[:-1])
    monkeypatch.setattr(plan.cpu, "_linked", {})

    second = compile_graph(graph(), settings)

    one, other = (execute(made, graph(), ARRAYS) for made in (first, second))
    assert [x.tobytes() for x in one] == [x.tobytes() for x in other]


def test_nothing_is_kept_where_somebody_looks_at_passes(settings, tmp_path):
    with override(verify=True):
        compile_graph(graph(), current())

    assert not entries(tmp_path)


def test_every_choice_has_a_key_of_its_own():
    keys = {
        plan.key_of(graph(), current()._replace(**choice), machine)
        for choice in ({}, {"without": "fuse"}, {"without": "claim"}, {"numerics": "fast"})
        for machine in ("one", "another")
    }

    assert len(keys) == 8


def test_a_changed_source_changes_the_fingerprint(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    before = fingerprint(tmp_path)
    (tmp_path / "a.py").write_text("x = 22")

    assert fingerprint(tmp_path) != before
