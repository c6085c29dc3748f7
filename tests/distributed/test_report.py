"""The page about a division names axes, bytes and lines."""

from __future__ import annotations

import pytest

from gnomon.distributed.mesh import Mesh
from gnomon.distributed.program import Division, RankProgram
from gnomon.distributed.report import explain
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.primitives import contract
from gnomon.passes.layout import Split

pytestmark = pytest.mark.unit

BY_COLUMNS = {"tensor": Split(1)}


def page(width: int, rows: int = 4, columns: int = 8) -> str:
    """About a product over a split axis of this size, on two ranks."""
    arena = Arena()
    x, w = arena.input((rows, width), float32, "x"), arena.input((columns, width), float32, "w")
    graph = Graph([x, w], [contract("bi,oi->bo", x, w)])
    return explain(RankProgram(graph, Division(Mesh((("tensor", 2),)), (BY_COLUMNS,) * 2, ({},))))


def test_a_page_says_what_is_sent_for_which_line():
    first, x, w, sum_, modelled, *rest = page(256).splitlines()

    assert first == "mesh: tensor 2; 8,192 flops in products per rank"
    assert (x, w) == ("  x: float32[4, 128] tensor S(1)", "  w: float32[8, 128] tensor S(1)")
    assert sum_.startswith("all_reduce along tensor: 1 value, 128 bytes from each rank  [")
    assert "test_report.py" in sum_
    assert modelled.startswith("modelled: 0.0")
    assert modelled.endswith(" of it waiting for 0.021 ms of transfers")
    assert not rest


def test_a_page_says_what_all_ranks_repeat():
    *_, gathered, _, repeated = page(48, 1, 1).splitlines()

    assert gathered.startswith("all_gather along tensor: 2 values, 192 bytes from each rank")
    assert repeated.startswith("every rank along tensor computes contract: float32[1, 1]")
