"""Numbers of one program at several shapes, and which of them follow from others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gnomon.ir.relations import (
    Formulas,
    Relations,
    StandIn,
    first_that_serves,
    own_size,
    unremarkable,
)
from gnomon.ir.sizes import ShapeEnv, is_symbolic, late
from gnomon.ir.sym_number import Unsized

pytestmark = pytest.mark.unit

Rows = list[tuple[int, ...]]


def own(size: int) -> int:
    """The size itself."""
    return size


def related(samples: Rows, inputs: int, leaves: set[int] | None = None) -> tuple[list[int], Any]:
    """The places of given numbers, and what computes all of them of these."""
    made = Relations(samples, inputs, leaves or set(), own)
    return made.places, made.sizes.function(made.numbers)


def test_what_never_varied_stays_a_number():
    made = Relations([(4, 7), (4, 9)], 2, set(), own)

    assert made.numbers[0] == 4
    assert not is_symbolic(made.numbers[0])
    assert is_symbolic(made.numbers[1])


@pytest.mark.parametrize(
    ("samples", "others", "places"),
    [
        ([(5, 5), (7, 7)], (9, 9), [0]),
        ([(5, 20), (7, 28)], (9, 36), [0]),
        ([(5, 4), (7, 6)], (9, 8), [0]),
        ([(5, 3, 15), (7, 4, 28)], (9, 2, 18), [0, 1]),
        ([(5, 25), (7, 49)], (9, 81), [0]),
        ([(5, 11), (7, 15), (8, 17)], (20, 41), [0]),
        ([(5, 11), (7, 15)], (20, 3), [0, 1]),
        ([(5, 9), (7, 2)], (20, 3), [0, 1]),
    ],
)
def test_numbers_follow_from_others(samples: Rows, others: tuple[int, ...], places: list[int]):
    inputs = 2 if len(others) == 3 else 1
    found, of = related(samples, inputs)

    assert found == places
    for each in (*samples, others):
        assert of([each[k] for k in places]) == each


def test_sizes_of_inputs_follow_only_where_they_are_equal():
    assert related([(4, 8, 4), (5, 10, 5)], 3)[0] == [0, 1]


def test_counts_of_leaves_that_are_not_canonical_may_not_vary():
    assert related([(2, 2), (4, 2)], 1, {1})[0] == [0]
    with pytest.raises(Unsized, match="leaves"):
        Relations([(2, 2), (4, 4)], 1, {1}, unremarkable)


def test_counts_of_leaves_follow_where_they_are_canonical():
    def halved(numbers: Iterator[Any], _: None, counts: list[Any]) -> None:
        counts.append(late(lambda n: n // 2, next(numbers)))

    made = Relations([(5, 2), (4, 2), (5, 2)], 1, {1}, unremarkable, halved)

    assert made.places == [0]
    assert made.given_by((9, 4)) == (9,)
    assert made.given_by((9, 2)) is None


def test_0_and_1_stay_numbers():
    assert related([(1, 5), (3, 7)], 2)[0] == [1]


def test_what_stands_in_is_a_prime():
    found = [unremarkable(n) for n in range(2, 300)]

    assert all(all(n % k for k in range(2, n)) for n in set(found))
    assert all(
        abs(x - max(n, 37)) < 16 or n < 16 for n, x in zip(range(2, 300), found, strict=True)
    )


class Made:
    """Something made for one size."""

    def __init__(self, size: int, served: int) -> None:
        self.size, self.served = size, served

    def serves(self, numbers: tuple[int, ...]) -> tuple[int, ...] | None:
        return numbers if numbers == (self.served,) else None


def test_where_no_prime_fits_something_is_made_for_the_size_itself():
    def make(stand_in: StandIn) -> Made:
        if stand_in(6) % 2:
            raise Unsized("it has to be even")
        return Made(stand_in(6), 6)

    found = first_that_serves(make, (6,), "a program", 1)

    assert found is not None
    assert found.size == 6
    assert first_that_serves(make, (8,), "a program", 1) is None


def test_what_stands_in_comes_first():
    found = first_that_serves(lambda stand_in: Made(stand_in(6), 6), (6,), "a program", 1)

    assert found is not None
    assert found.size == 13


def test_formulas_are_taken_over():
    env = ShapeEnv()
    n, m = env.symbol(40), env.symbol(6)
    known = (env, (n, 8, n * m, m // 2))
    made = Formulas(known, (40, 6), unremarkable)

    assert [x.value if is_symbolic(x) else x for x in made.numbers] == [41, 8, 41 * 13, 6]
    assert made.given_by((9, 9)) == (9, 9)
    assert made.sizes.function(made.numbers)((10, 5)) == (10, 8, 50, 2)
    at_own = Formulas(known, (40, 6), own_size).numbers
    assert [x.value for x in at_own if is_symbolic(x)] == [40, 240, 3]
