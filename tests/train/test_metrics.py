"""Lines are whole, and a resumed run goes on where its checkpoint is."""

from __future__ import annotations

import json

import pytest

from gnomon.train.metrics import Metrics, read_metrics, write_summary

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
