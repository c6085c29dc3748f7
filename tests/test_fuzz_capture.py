"""A compiled function is the function, whatever changes between calls: every part, and mixes."""

from __future__ import annotations

import random

import pytest

from tests.fuzz_capture import differ, in_turn, singles, tried

SINGLES = [*enumerate(singles())]
IDS = [program.parts[0][:60] for _, program in SINGLES]


@pytest.mark.parametrize(("number", "program"), SINGLES, ids=IDS)
def test_a_change_or_an_effect_is_never_missed(number, program):
    assert not differ(program, number % 2 == 0, in_turn(program))


@pytest.mark.proof
@pytest.mark.share(8)
@pytest.mark.parametrize(("number", "program"), SINGLES, ids=IDS)
def test_nor_the_other_way_about_gradients(number, program):
    assert not differ(program, number % 2 == 1, in_turn(program))


def test_random_programs_are_the_plain_ones():
    rng = random.Random(1)

    assert not [told for told in (tried(rng) for _ in range(60)) if told]


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_random_programs_are_the_plain_ones(seed):
    rng = random.Random(seed)

    assert not [told for told in (tried(rng) for _ in range(1000)) if told]
