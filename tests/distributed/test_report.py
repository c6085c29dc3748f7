"""The page about a program over a mesh names axes, bytes and lines."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.distributed import report
from gnomon.distributed.report import explain
from gnomon.distributed.tensor import Shard, distribute_tensor, init_device_mesh
from gnomon.ir.node import Graph
from gnomon.passes.divide import Hear, divide
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit


def page(width: int, rows: int = 4, columns: int = 8) -> list[str]:
    """The page of a product over a split axis of this size, on two ranks."""

    def work(rank: int, ranks: int) -> str:
        mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tensor",))
        x, w = gn.ones(rows, width), gn.ones(columns, width)
        parts = [distribute_tensor(each, mesh, [Shard(1)]) for each in (x, w)]
        product = gn.compile(lambda x, w: (x @ w.T).full_tensor())
        product(*parts)
        return explain(product)

    first, second = on_threads(work, 2)
    assert first == second
    return first.splitlines()


def test_a_page_says_what_is_sent_for_which_line():
    sent, modelled = page(256)

    assert sent.startswith("all_reduce along tensor: 1 value, 128 bytes from each rank  [")
    assert "test_report.py" in sent
    assert modelled.startswith("modelled: 0.0")
    assert modelled.endswith(" of it waiting for 0.021 ms of transfers")


def test_a_page_says_what_all_ranks_repeat():
    gathered, _, repeated = page(48, 1, 1)

    assert gathered.startswith("all_gather along tensor: 2 values, 192 bytes from each rank")
    assert repeated.startswith("every rank along tensor computes contract: float32[1, 1]")


def test_a_page_divides_a_program_once(monkeypatch):
    divisions: list[str] = []

    def counted(graph: Graph, hear: Hear) -> Graph:
        divisions.append("divide")
        return divide(graph, hear)

    monkeypatch.setattr(report, "divide", counted)
    page(256)

    assert divisions == ["divide"] * 2
