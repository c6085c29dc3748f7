"""A kind follows from an operation and its parameters, and from nothing else."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir import memo
from gnomon.ir.memo import kind_of
from gnomon.ir.node import Arena

pytestmark = pytest.mark.unit


def test_a_serial_makes_no_difference_to_a_kind_and_all_to_a_node():
    """A kind for each serial would make every step's structure new, and the table would grow."""
    arena = Arena()
    x = arena.input((2, 3), float32)

    first, second = (arena.node("detach", (x,), serial=k) for k in (1, 2))

    assert first is not second
    assert first.kind == second.kind == arena.node("detach", (x,)).kind


def test_kinds_that_nobody_asks_for_are_forgotten(monkeypatch):
    monkeypatch.setattr(memo, "MOST_KINDS", 8)
    monkeypatch.setattr(memo, "_KINDS", {})
    monkeypatch.setattr(memo, "_OLD_KINDS", {})
    asked, passing = ("flip", {"axis": 0}), [("flip", {"axis": axis}) for axis in range(1, 100)]

    numbers = {kind_of(*asked)}
    for each in passing:
        numbers |= {kind_of(*asked), kind_of(*each)}

    assert len(numbers) == 1 + len(passing)
    assert len(memo._KINDS) + len(memo._OLD_KINDS) <= 16
    assert kind_of(*asked) == min(numbers)
