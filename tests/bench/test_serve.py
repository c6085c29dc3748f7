"""A contender's process: how its steps are timed, and what it answers."""

from __future__ import annotations

import pytest

from gnomon.bench.serve import answer, first_steps, memory, times
from tests.bench.tiny import tiny

pytestmark = pytest.mark.unit


def counting():
    """A step that counts how often it is taken."""
    taken = []
    return taken, lambda: taken.append(1) or float(len(taken))


def test_at_least_one_step_is_timed():
    taken, step = counting()

    assert len(times(step, 0.0)) == len(taken) == 1


def test_steps_are_timed_until_the_budget_is_spent():
    _, step = counting()

    assert sum(times(step, 0.002)) >= 0.002


def test_the_first_three_losses_are_told(tmp_path):
    _, step = counting()

    made = {"step": step, "about": {"version": "0"}}
    contender, told = first_steps(lambda problem: made, tiny("lce", tmp_path), 0.0)

    assert contender is made
    assert told["losses"] == [1.0, 2.0, 3.0]
    assert told["about"] == {"version": "0"}


def test_a_question_that_nobody_can_answer_is_answered_by_nothing():
    assert answer({"step": lambda: 0.0}, {"profile": 3}) == {}


def test_a_profile_comes_with_figures():
    made = {"step": lambda: 0.0, "profile": lambda n: [n], "figures": lambda: {"compiles": 2}}

    assert answer(made, {"profile": 3}) == {"rows": [3], "figures": {"compiles": 2}}


def test_memory_is_told_where_the_system_tells_it():
    told = memory()

    assert not told or 0 < told["now"] <= told["peak"]
