"""The command from its words to its files."""

from __future__ import annotations

import json

import pytest

import gnomon.bench.command as command
from gnomon.__main__ import code_of
from gnomon.bench.cases import Case
from tests.bench.tiny import TINY


@pytest.fixture
def _small(monkeypatch):
    case = Case("lce", "a small one", "lce", TINY["lce"])
    monkeypatch.setattr(command, "cases_of", lambda words: [case])
    monkeypatch.setattr("gnomon.profiler.limits.BYTES", 1 << 16)


@pytest.mark.usefixtures("_small")
def test_a_bench_prints_a_table_and_writes_files(tmp_path, capsys):
    files = {name: tmp_path / f"made.{name}" for name in ("json", "svg")}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]

    code = code_of(["bench", "lce", "--rounds", "1", "--patience", "0", *words])

    assert code == 0
    shown = capsys.readouterr().out
    assert "a small one" in shown
    assert "GFLOP/s" in shown
    written = json.loads(files["json"].read_text())
    assert written["cases"][0]["contenders"][0]["name"] == "gnomon"
    assert files["svg"].read_text().startswith("<svg")


def test_a_workload_that_nobody_knows_is_a_mistake(capsys):
    assert code_of(["bench", "gtp"]) == 2
    assert "no workload 'gtp'" in capsys.readouterr().err


def test_rounds_are_at_least_one(capsys):
    assert code_of(["bench", "gpt", "--rounds", "0"]) == 2
    assert "--rounds" in capsys.readouterr().err
