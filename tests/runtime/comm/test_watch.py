"""A rank's own words about itself; with a board in test_board.py, launched in test_failures.py."""

from __future__ import annotations

import sys

import pytest

from gnomon.runtime.comm import watch

pytestmark = pytest.mark.unit


def test_a_rank_is_at_the_innermost_line_of_its_user(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watch, "links_of_process", list)
    line = sys._getframe().f_lineno + 1
    told = watch.doing()

    assert told == f"at {__file__}:{line} in {sys._getframe().f_code.co_name}"


def test_one_process_has_no_board_and_no_table():
    assert watch.of_process() is None
    assert watch.table() == ""


def test_a_thread_without_python_is_in_our_own_code():
    assert watch.user_line(None) == "Gnomon's own code"
