"""One seed for everything that draws, and everything as before after it."""

from __future__ import annotations

import random
from itertools import count

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

pytest_plugins = ["pytester"]


def drawn() -> tuple[float, float, float, list[int]]:
    """A draw of each."""
    shuffled = gn.utils.data.DataLoader(list(range(9)), batch_size=9, shuffle=True)
    return random.random(), np.random.rand(), gn.rand(1).item(), next(iter(shuffled)).tolist()


@pytest.mark.parametrize("seed", [0, 7, 2**40 + 7])
def test_a_seed_gives_the_same_draws(seed: int):
    gn.testing.seed_all(seed)
    first = drawn()
    gn.testing.seed_all(seed)

    assert drawn() == first
    assert gn.initial_seed() == seed


def test_seeds_differ_in_every_generator():
    found = []
    for seed in (1, 2, 2**32 + 1):
        gn.testing.seed_all(seed)
        found.append(drawn()[:3])

    assert all(len(set(draws)) == 3 for draws in zip(*found, strict=True))


def test_after_a_with_all_go_on_where_they_were():
    gn.testing.seed_all(5)
    drawn()
    expected = drawn()
    gn.testing.seed_all(5)
    drawn()
    with gn.testing.seed_all(6):
        drawn()

    assert drawn() == expected


def test_the_seed_of_a_with_that_failed_is_known():
    before = gn.testing.seeded()
    with pytest.raises(ZeroDivisionError), gn.testing.seed_all(11):
        next(count()) / 0

    assert gn.testing.seeded() == 11
    assert before != 11


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "a"])
def test_what_is_no_seed_is_refused(seed: object):
    with pytest.raises(ArgumentError, match="seed_all: expected int >= 0"):
        gn.testing.seed_all(seed)  # type: ignore[arg-type]


def test_a_test_that_fails_shows_its_seed(pytester: pytest.Pytester):
    pytester.makeconftest("from tests.conftest import *\n")
    pytester.makepyfile("def test_wrong():\n    assert 1 == 2\n")

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")

    result.stdout.re_match_lines([r".*gn\.testing\.seed_all\(\d+\)"])
