"""The search finds one of many, several that work together, and the first of a count."""

from __future__ import annotations

import random

import pytest

from gnomon.bisect.search import first_wrong, guilty

pytestmark = pytest.mark.unit
NAMES = [f"name {k}" for k in range(16)]


@pytest.mark.parametrize("name", NAMES)
def test_one_of_sixteen_takes_five_runs(name: str):
    runs = []

    def is_right_without(left_out):
        runs.append(left_out)
        return name in left_out

    assert guilty(NAMES, is_right_without) == [name]
    assert len(runs) == 5


def test_several_that_are_wrong_by_themselves_are_all_found():
    for seed in range(40):
        source = random.Random(seed)
        wrong = set(source.sample(NAMES, source.randrange(1, 4)))

        assert set(guilty(NAMES, lambda left_out, wrong=wrong: wrong <= {*left_out})) == wrong


@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_the_first_application_of_a_count_is_found(count: int):
    for wanted in range(1, count + 1):
        assert first_wrong(count, lambda since, wanted=wanted: since <= wanted) == wanted
