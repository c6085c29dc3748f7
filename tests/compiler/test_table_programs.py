"""Kernels of tables whose rows step in place name their lines, as any kernel does."""

from __future__ import annotations

import json

import pytest

import gnomon as gn
from gnomon.errors import IndexOutOfBounds
from gnomon.nn.table_batched import TableBatchedEmbeddingBags, TableSpec
from gnomon.profiler import profile

POSITIONS = [[[0, 1], [2, -1], [3, 3]], [[0, 1], [2, -1], [6, 6]]]
HERE = "tests/compiler/test_table_programs.py"


class Ranker(gn.nn.Module):
    """Two tables and a layer above them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = TableBatchedEmbeddingBags([TableSpec(10, 4, "users"), TableSpec(7, 6)])
        self.top = gn.nn.Linear(10, 1)

    def forward(self, positions: gn.Tensor) -> gn.Tensor:
        """A number for each bag."""
        return self.top(self.tables(positions))  # the line of all four kernels


def line_of_tables() -> int:
    """The number of that line."""
    with open(__file__, encoding="utf-8") as file:
        return next(k for k, text in enumerate(file, 1) if "the line of all four" in text)


def profiled(steps: int = 1):
    """A profile of training steps."""
    model, positions = Ranker(), gn.tensor(POSITIONS)
    optimizer = gn.optim.SGD(model.top.parameters(), lr=0.1)
    with profile() as found:
        for _ in range(steps):
            model(positions).sum().backward()
            optimizer.step()
    return found


def test_kernels_name_line_module_and_phase():
    records = [r for r in profiled().data.records.values() if "TableBatched" in r.program]
    told = sorted((r.name, [(x.line, x.module, x.phase) for x in r.lines]) for r in records)
    line = line_of_tables()

    bags = ("bags", [(line, "tables", "forward")])
    step = ("rowwise_adagrad_rows", [(line, "tables", p) for p in ("backward", "optimizer")])
    assert told == [bags, bags, step, step]
    assert all(x.file.endswith(HERE) for r in records for x in r.lines)


def test_records_tell_what_is_read_and_written():
    records = [r for r in profiled().data.records.values() if "TableBatched" in r.program]
    bags = next(r for r in records if any(b.name == "users" for b in r.buffers))

    assert [(b.role, b.shape) for b in bags.buffers] == [
        ("output", (3, 4)),
        ("input", (10, 4)),
        ("input", (3, 2)),
    ]
    assert bags.nbytes == 8 * 6 + 4 * 4 * (6 + 3)


def test_tables_and_traces_name_the_line(tmp_path):
    found, trace = profiled(), tmp_path / "trace.json"
    found.export_chrome_trace(str(trace))

    assert f"{HERE.split('/')[-1]}:{line_of_tables()}" in str(found.by_source_line())
    assert "rowwise_adagrad_rows" in str(found.by_kernel())
    kernels = [e for e in json.loads(trace.read_text())["traceEvents"] if e.get("name") == "bags"]
    assert kernels
    assert all(f"{HERE}:{line_of_tables()}" in json.dumps(e) for e in kernels)


def test_a_step_that_comes_again_has_the_same_records():
    ids = [
        sorted(k for k, r in profiled(n).data.records.items() if "TableBatched" in r.program)
        for n in (1, 3)
    ]

    assert ids[0] == ids[1]


def test_a_position_outside_names_the_line():
    model = Ranker()

    with pytest.raises(IndexOutOfBounds, match=rf"Check the indices of .*{HERE}:\d+ in tables\."):
        model(gn.tensor([[[10, 0]], [[0, 0]]]))
