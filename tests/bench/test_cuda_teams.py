"""Programs of teams of a card's threads, on a stand-in for a card."""

from __future__ import annotations

import pytest

import gnomon as gn
from benchmarks.cuda import teams
from benchmarks.cuda.runtime import bits
from tests.cuda.cards import fake_card

there = pytest.fixture(fake_card, name="there")


@pytest.mark.parametrize(("name", "results"), [("rows of experts", 3), ("one row", 1)])
def test_a_program_has_the_bits_of_the_cpu(there, monkeypatch, name, results):
    monkeypatch.setattr(there, "shape", (2, 128))
    f, given = teams.functions(scale=1)[name]

    made = [bits(f(*(x.to(device) for x in given))) for device in ("cpu", "cuda")]

    assert made[0] == made[1]
    assert len(made[0]) == results


def test_programs_are_captured_whole(there):
    f, given = teams.functions(scale=1)["rows of experts"]

    assert bits(gn.compile(f, fullgraph=True)(*given)) == bits(f(*given))
