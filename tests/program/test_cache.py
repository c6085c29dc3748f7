"""Programs on disk: found again as they were, or not at all."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gnomon.codegen.machine import AVX2, NEON
from gnomon.compiler import pipeline
from gnomon.compiler.build import compile_graph
from gnomon.compiler.target import context
from gnomon.dtypes import float32
from gnomon.ir import memo
from gnomon.ir.node import Arena, Graph
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.scalars import exp
from gnomon.program import cache
from gnomon.program.context import CompileContext
from gnomon.runtime import device
from gnomon.runtime.cache import fingerprint
from gnomon.settings import current, override
from tests.compiled import execute
from tests.mutations_of_files import BYTES

ARRAYS = [np.arange(12, dtype=np.float32).reshape(3, 4), np.ones((4, 5), np.float32)]


def graph(power: float = 0.1) -> Graph:
    """A product and a sum of exponentials."""
    arena = Arena()
    x, w = (arena.input(a.shape, float32) for a in ARRAYS)
    y = exp(contract("ab,bc->ac", x, w) * power)
    return Graph((x, w), (y, reduce("add", y, (0,))))


@pytest.fixture
def asked(tmp_path) -> Iterator[CompileContext]:
    """Programs are kept, in a folder of their own."""
    with override(cache=True, keep_programs=True, cache_dir=str(tmp_path)):
        yield context()


def entries(folder: Path) -> list[Path]:
    """The programs in a cache."""
    return [x for x in (folder / "programs").glob("??/*") if not x.name.startswith(".")]


def test_a_program_is_found_again_without_passes(asked, monkeypatch):
    first = compile_graph(graph(), asked)
    monkeypatch.setattr(pipeline, "kernels_of", None)

    second = compile_graph(graph(), asked)

    assert second.program.steps == first.program.steps
    assert second.memory == first.memory
    one, other = (execute(made, graph(), ARRAYS) for made in (first, second))
    assert [x.tobytes() for x in one] == [x.tobytes() for x in other]


def test_its_kernels_are_told_all_the_same(asked):
    first, second = compile_graph(graph(), asked), compile_graph(graph(), asked)

    assert [k.name for k in second.kernels] == [k.name for k in first.kernels]


def test_another_graph_is_another_program(asked, tmp_path):
    compile_graph(graph(), asked)
    compile_graph(graph(0.2), asked)

    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize("what", ["program", "object"])
@pytest.mark.parametrize("mutation", BYTES, ids=lambda x: x.__name__)
def test_what_is_damaged_is_made_anew(asked, tmp_path, what, mutation, monkeypatch):
    first, chance = compile_graph(graph(), asked), random.Random(what)
    wanted = execute(first, graph(), ARRAYS)

    for _ in range(3):
        for entry in (tmp_path / f"{what}s").glob("??/*"):
            entry.write_bytes(mutation(entry.read_bytes(), chance))
        memo.clear()

        found = execute(compile_graph(graph(), asked), graph(), ARRAYS)

        assert [x.tobytes() for x in found] == [x.tobytes() for x in wanted]


CHILD = """
import math, sys
import numpy as np
import gnomon as gn
x = gn.linspace(0.5, 1.5, 7)
found = {name: gn.compile(getattr(gn, name))(x).numpy() for name in ("exp", "sin", "cos")}
wrong = [name for name, y in found.items() if abs(y - getattr(np, name)(x.numpy())).max() > 1e-6]
print(wrong)
"""


@pytest.mark.parametrize("kind", ["objects", "programs"])
def test_files_that_change_places_give_nobody_anothers_function(tmp_path, kind):
    setting = {"GNOMON_CACHE_DIR": str(tmp_path), "GNOMON_KEEP_PROGRAMS": "1"}
    environment = {**os.environ, **setting, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}

    def said() -> str:
        command = [sys.executable, "-c", CHILD]
        return subprocess.check_output(command, env=environment, text=True).strip()

    assert said() == "[]"
    paths = sorted((tmp_path / kind).glob("??/*"))
    contents = [path.read_bytes() for path in paths]
    assert len(paths) >= 3

    for path, content in zip(paths, contents[1:] + contents[:1], strict=True):
        path.write_bytes(content)

    assert said() == "[]"
    assert [path.read_bytes() for path in paths] == contents


@pytest.mark.parametrize("kind", ["objects", "."])
def test_a_cache_that_others_can_write_to_is_neither_read_nor_written(tmp_path, kind):
    folder = tmp_path / "cache"
    setting = {"GNOMON_CACHE_DIR": str(folder), "GNOMON_KEEP_PROGRAMS": "1"}
    environment = {**os.environ, **setting, "PYTHONPATH": str(Path(__file__).parent.parent.parent)}
    open_one = folder / kind
    open_one.mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    open_one.chmod(0o777)

    command = [sys.executable, "-c", CHILD]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)

    assert done.stdout.strip() == "[]"
    assert done.stderr.count("UserWarning: cache: ") == 1
    assert f"{open_one} can be written to by others (mode 777)" in done.stderr
    assert not list(open_one.glob("**/??/*"))


def test_nothing_is_kept_where_somebody_looks_at_passes(asked, tmp_path):
    with override(verify=True):
        compile_graph(graph(), context())

    assert not entries(tmp_path)


def test_every_choice_has_a_key_of_its_own():
    keys = {
        cache.key_of(graph(), CompileContext(machine, current()._replace(**choice)))
        for choice in ({}, {"without": "fuse"}, {"without": "claim"}, {"numerics": "fast"})
        for machine in (AVX2, NEON)
    }

    assert len(keys) == 8


def test_a_program_of_other_sources_or_another_processor_has_a_key_of_its_own(monkeypatch):
    keys = [cache.key_of(graph(), CompileContext(AVX2))]
    monkeypatch.setattr(cache, "own_sources", lambda: "other sources")
    keys.append(cache.key_of(graph(), CompileContext(AVX2)))
    other = "neon" if device.target().name != "neon" else "avx2"
    monkeypatch.setattr(device, "target", lambda: device.foreign(other))
    keys.append(cache.key_of(graph(), CompileContext(AVX2)))

    assert len({*keys}) == 3


def test_a_changed_source_changes_the_fingerprint(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    before = fingerprint(tmp_path)
    (tmp_path / "a.py").write_text("x = 22")

    assert fingerprint(tmp_path) != before
