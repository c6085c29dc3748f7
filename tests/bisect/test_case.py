"""A case holds a graph and its inputs; what is none is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gnomon.bisect import case
from gnomon.bisect.case import FaultCase, load_case, save_case
from gnomon.dtypes import bfloat16, float32
from gnomon.errors import ConfigError
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import cast


def test_a_case_gives_its_programs_results_with_and_without_an_optimisation(tmp_path: Path):
    arena = Arena()
    x, y = arena.input((2, 3), float32, "x"), arena.input((3,), bfloat16, "y")
    graph = Graph([x, y], [x * cast(y, float32) + 1.0])
    arrays = [np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, bfloat16.numpy)]
    save_case(tmp_path / "case.npz", graph, arrays)

    found = load_case(tmp_path / "case.npz")

    (made,) = found.outputs()
    assert made.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    assert found.witness() == found.witness(without="fuse")
    assert "add" in str(found)


def test_a_case_whose_program_cannot_be_compiled_ends_in_the_error(monkeypatch: pytest.MonkeyPatch):
    arena = Arena()
    x = arena.input((2,), float32, "x")
    found = FaultCase(Graph([x], [x + 1.0]), [np.zeros(2, np.float32)])

    def refuse(graph: Graph) -> None:
        raise AssertionError("planted")

    monkeypatch.setattr(case, "build", refuse)

    assert found.ending() == "AssertionError: planted"


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04"])
def test_a_file_that_holds_no_case_is_refused(content: bytes, tmp_path: Path):
    path = tmp_path / "case.npz"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match="holds no case"):
        load_case(path)
