"""Programs: found again by structure and settings, from the disk, under their own lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gnomon.compiler import build as building
from gnomon.compiler.build import build
from gnomon.dtypes import float32
from gnomon.ir import memo
from gnomon.ir.node import Arena, Graph
from gnomon.ops.primitives import reduce
from gnomon.ops.scalars import exp
from gnomon.program.executable import Executable
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override

X = np.arange(15, dtype=np.float32).reshape(3, 5)


def sums(factor: float) -> Graph:
    """Sums of exponentials."""
    arena = Arena()
    x = arena.input(X.shape, float32)
    return Graph((x,), (reduce("add", exp(x * factor), (1,)),))


def bits(made: Executable) -> bytes:
    """What it gives for X."""
    (found,) = made.run([DeviceBuffer.of(X)])
    return found.numpy(np.float32, (3,)).tobytes()


@pytest.fixture
def fresh(monkeypatch, tmp_path) -> Iterator[None]:
    """Nothing is known of earlier programs, and a folder of its own keeps those of this test."""
    memo.clear()
    with override(cache=True, keep_programs=True, cache_dir=str(tmp_path)):
        yield


def test_equal_graphs_are_one_program_for_each_choice_of_settings(fresh):
    first, same = build(sums(0.5)), build(sums(0.5))
    with override(without="fuse"):
        apart = build(sums(0.5))

    assert same.program is first.program
    assert apart.program is not first.program
    assert build(sums(0.25)).program is not first.program
    assert bits(apart) == bits(first)


def test_a_program_that_is_on_disk_asks_for_no_compiler(fresh, monkeypatch):
    first = build(sums(0.5))
    memo.clear()
    monkeypatch.setattr(building, "pipeline", None)

    found = build(sums(0.5))

    assert found.fresh == 0
    assert found.program is not first.program
    assert bits(found) == bits(first)
