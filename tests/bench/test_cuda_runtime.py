"""The rows of benchmarks.cuda.runtime, on a stand-in for a card."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks.cuda import runtime
from gnomon.errors import DeviceLost
from tests.cuda.cards import fake_card

there = pytest.fixture(fake_card, name="there", autouse=True)


@pytest.fixture(autouse=True)
def once(monkeypatch):
    """Times are taken once."""
    monkeypatch.setattr(runtime, "REPEATS", 1)


@pytest.mark.parametrize("name", ["layer_norm", "embedding", "max_pool2d"])
def test_a_program_has_equal_bits_and_times(name):
    row = runtime.programs()[name]()

    assert row["equal"]
    assert row["seconds on cuda"] > 0


def test_an_operation_is_equal_or_refused_with_the_reason():
    assert runtime.operation("cumsum") == {"equal": True}
    assert "runs on the CPU alone" in runtime.operation("svd")["refused"]


def test_rows_that_are_known_are_not_run_again(tmp_path, monkeypatch):
    ran = []

    def lost() -> dict:
        ran.append("second")
        raise DeviceLost("gone")

    made = {"first": lambda: ran.append("first") or {"equal": True}, "second": lost}
    monkeypatch.setattr(runtime, "rows", lambda operations: made)
    monkeypatch.setattr(sys, "argv", ["runtime", "--json", str(tmp_path / "card.json")])
    with pytest.raises(SystemExit, match="second ended the use of the card"):
        runtime.main()
    runtime.main()

    assert ran == ["first", "second"]
    found = json.loads((tmp_path / "card.json").read_text())
    assert found == {"card": "Fake card", "first": {"equal": True}, "second": {"lost": "gone"}}
