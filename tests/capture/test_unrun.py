"""A program that is captured to be looked at is the one that a call then runs."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.capture.unrun import program_for
from gnomon.errors import TraceError

pytestmark = pytest.mark.unit


def test_the_program_of_a_call_is_the_one_that_the_call_runs():
    doubled = gn.compile(lambda x: x * 2)
    made = program_for(doubled, gn.ones(3))

    assert doubled(gn.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert doubled.captures == 1
    assert program_for(doubled, gn.ones(3)) is made


def test_what_is_captured_for_each_call_is_refused():
    calls = []
    counted = gn.compile(lambda x: calls.append(1) or x + len(calls))

    with pytest.raises(TraceError, match="program_for: each call of <lambda> is captured anew"):
        program_for(counted, gn.ones(2))
