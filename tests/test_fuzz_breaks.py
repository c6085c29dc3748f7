"""Random programs that look at values are the plain functions, compiled or not."""

from __future__ import annotations

import random

import pytest

from tests.fuzz_breaks import tried


@pytest.mark.parametrize("seed", [0, *(pytest.param(x, marks=pytest.mark.long) for x in (1, 2))])
def test_random_programs_with_breaks_are_the_plain_ones(seed):
    rng = random.Random(seed)

    assert not [told for told in (tried(rng) for _ in range(8)) if told]


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("seed", range(10, 13))
def test_hundreds_of_random_programs_with_breaks_are_the_plain_ones(seed):
    rng = random.Random(seed)

    assert not [told for told in (tried(rng) for _ in range(200)) if told]
