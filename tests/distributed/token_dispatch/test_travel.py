"""Places are those that steps were measured to need; a step that needs more has places for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gnomon as gn
from gnomon.distributed.token_dispatch.travel import TokenTravel


def test_the_most_is_that_of_any_block_and_rank_in_any_layer():
    counts_nle = gn.tensor([[[1, 2, 0, 4], [3, 3, 1, 0]], [[0, 0, 5, 0], [1, 1, 1, 4]]])

    assert TokenTravel(("data", 2)).most(counts_nle).item() == 6
    assert TokenTravel(("data", 4)).most(counts_nle).item() == 5


def test_programs_that_are_looked_at_have_places_for_an_even_load():
    travel = TokenTravel(("data", 4))
    assert [travel.places(slots) for slots in (1, 100, 4096)] == [1, 100, 4096]

    travel.is_even = True

    assert [travel.places(slots) for slots in (1, 100, 4096)] == [1, 32, 1280]


def counted(travel: TokenTravel, asked: list[int], most: int) -> Callable[[], int]:
    """A step that has so many slots for a rank."""

    def step() -> int:
        asked.append(travel.capacity)
        return most

    return step


def test_a_step_that_has_no_place_for_all_is_taken_again():
    travel, asked = TokenTravel(("data", 2)), list[int]()

    for most in (100, 128, 129, 60):
        assert travel.replayed(counted(travel, asked, most), int) == most

    assert asked == [0, 128, 128, 0, 176]
    assert (travel.capacity, travel.measured) == (0, 176)


def test_a_step_that_fails_leaves_places_for_all():
    travel = TokenTravel(("data", 2))
    travel.measured = 8

    def step() -> int:
        assert travel.capacity == 8
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        travel.replayed(step, int)
    assert (travel.capacity, travel.measured) == (0, 8)
