"""Times of kernels, by code."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.bench.profile import profile


def test_a_profile_lists_what_a_step_runs():
    x = gn.ones(33, 65)

    @gn.compile
    def program(x):
        return (x @ x.mT).sum()

    rows = profile(lambda: program(x).item(), 2)

    assert sum(row["flops"] for row in rows) >= 2 * 33 * 33 * 65
    assert all(row["seconds"] > 0 for row in rows)
    assert any("float32[33, 65]" in row["operands"] for row in rows)
    assert [row["seconds"] for row in rows] == sorted((r["seconds"] for r in rows), reverse=True)


@pytest.mark.unit
def test_nothing_that_runs_is_an_empty_profile():
    assert profile(lambda: 0.0, 2) == []
