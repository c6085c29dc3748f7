"""Numbers of recorded graphs that follow sizes."""

from __future__ import annotations

import pytest

from gnomon.export.symbols import Expression, expression_of, general_rows, value_of

pytestmark = pytest.mark.unit

ROWS = [(3, 5), (5, 4), (4, 9), (8, 7)]


@pytest.mark.parametrize(
    "found",
    [
        Expression((0,), 1, 0),
        Expression((1,), 1, 0),
        Expression((0,), 4, 0),
        Expression((1,), 1, -1),
        Expression((0,), 2, 3),
        Expression((0, 1), 1, 0),
        Expression((1, 1), 3, 0),
        Expression((0, 1), 1, 2, True),
    ],
)
def test_an_expression_is_found_again(found):
    numbers = [value_of(found, row) for row in ROWS]

    assert expression_of(numbers, ROWS) == found


def test_what_follows_no_size_has_no_expression():
    assert expression_of([1, 2, 3, 5], ROWS) is None


def test_sizes_to_try_follow_no_other_in_a_straight_line():
    rows = general_rows([range(3, 15), range(4, 16), range(2, 14)], {5})

    assert rows is not None
    columns = [*zip(*rows, strict=True)]
    assert all(5 not in row and len(set(row)) == 3 for row in rows)
    for numbers in columns:
        others = [[n for n in row if n != x] for row, x in zip(rows, numbers, strict=True)]
        assert expression_of(numbers, others) is None
    assert general_rows([range(3)], ()) is None
