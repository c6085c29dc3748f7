"""Lines are whole, and a resumed run goes on where its checkpoint is."""

from __future__ import annotations

import json

import pytest

from gnomon.runtime import files
from gnomon.train.metrics import Metrics, read_metrics, write_summary
from tests.faulty_disks import FullDisk

pytestmark = pytest.mark.unit


def test_rows_come_back_in_order(tmp_path):
    metrics = Metrics(tmp_path)
    metrics.write({"step": 1, "loss": 2.5})
    metrics.write({"step": 2, "loss": 2.0})

    assert read_metrics(tmp_path) == [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.0}]
    metrics.close()


def test_lines_after_the_checkpoint_and_half_lines_are_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step":1}\n{"step":2}\n{"step":3}\n{"ste')

    metrics = Metrics(tmp_path, after=2)
    metrics.write({"step": 3, "again": True})
    metrics.close()

    assert read_metrics(tmp_path) == [{"step": 1}, {"step": 2}, {"step": 3, "again": True}]


def test_a_run_without_metrics_has_no_rows(tmp_path):
    assert read_metrics(tmp_path) == []


def test_the_summary_is_json(tmp_path):
    path = write_summary(tmp_path, {"steps": 3, "bits_per_byte": 1.5})

    assert json.loads(path.read_text()) == {"steps": 3, "bits_per_byte": 1.5}


@pytest.mark.parametrize("place", range(0, 48, 7))
def test_one_bad_byte_costs_one_line(tmp_path, place):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": k, "loss": 2.5} for k in range(1, 5)]
    content = bytearray("".join(json.dumps(row) + "\n" for row in rows).encode())
    content[place] = 0xFF
    path.write_bytes(content)

    metrics = Metrics(tmp_path, after=3)
    metrics.close()

    assert metrics.unreadable == 1
    assert len(read_metrics(tmp_path)) == 2
    assert (tmp_path / "metrics.jsonl.damaged").read_bytes() == bytes(content)


def test_lines_of_another_kind_are_left_out(tmp_path):
    lines = ["[1]", "{}", '{"step":-1}', '{"step":"x"}', '{"step":1,"loss":"x"}', '{"step":1}']
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")

    assert read_metrics(tmp_path) == [{"step": 1}]


def test_lines_that_a_full_disk_refuses_wait_for_the_next(tmp_path, monkeypatch):
    metrics = Metrics(tmp_path)
    assert metrics.write({"step": 1, "loss": 3.0}) is None
    monkeypatch.setattr(files, "disk", FullDisk(0, 2))

    refused = [metrics.write({"step": step, "loss": 2.0}) for step in (2, 3)]

    assert [x.strerror for x in refused] == ["No space left on device"] * 2
    assert refused[0].filename == str(tmp_path / "metrics.jsonl")
    assert metrics.write({"step": 4, "loss": 1.0}) is None
    metrics.settle()
    metrics.close()
    assert [row["step"] for row in read_metrics(tmp_path)] == [1, 2, 3, 4]
