"""A process that serves: asked, answering, failing with its last word."""

from __future__ import annotations

import sys

import pytest

from gnomon.bench.peers import Contender
from gnomon.bench.worker import BenchWorker, Failed
from tests.bench.tiny import tiny

GOOD = """
def lce(problem):
    print("chatter")
    return {"step": lambda: float(problem["rows"]), "about": {"variant": problem.variant}}
"""
BAD = """
def lce(problem):
    raise ValueError("no such thing")
"""
FALLS = """
import itertools, os
def lce(problem):
    turn = itertools.count()
    return {"step": lambda: 1.0 if next(turn) < 3 else os._exit(3)}
"""


@pytest.fixture
def start(tmp_path):
    """Starts a contender that is written as text."""
    workers = []

    def begin(text):
        (tmp_path / "somebody.py").write_text(text)
        tiny("lce", tmp_path / "problem")
        place = {"PYTHONPATH": str(tmp_path)}
        contender = Contender("somebody", sys.executable, "somebody", "lce", "plain", place)
        workers.append(BenchWorker(contender, tmp_path / "problem", 1))
        return workers[-1]

    yield begin
    for worker in workers:
        worker.end()


def test_a_worker_tells_of_its_first_steps_and_runs_more(start):
    worker = start(GOOD)

    assert worker.first_steps["losses"] == [6.0] * 3
    assert worker.first_steps["about"] == {"variant": "plain"}
    assert worker.ask(run=0.0)["seconds"]


def test_a_worker_that_cannot_begin_says_why(start):
    with pytest.raises(Failed, match=r"somebody: ValueError: no such thing"):
        start(BAD)


def test_a_worker_that_ends_early_is_noticed(start):
    worker = start(FALLS)

    with pytest.raises(Failed, match="somebody: ended without a word"):
        worker.ask(run=0.0)
