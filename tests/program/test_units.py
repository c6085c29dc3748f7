"""Numbers for people."""

from __future__ import annotations

import pytest

from gnomon.program.units import align_columns, counted, digits, metric


@pytest.mark.parametrize(
    ("number", "text"), [(999.4, "999 B"), (999.6, "1.00 kB"), (-2.5e6, "-2.50 MB"), (0, "0 B")]
)
def test_an_amount_has_three_digits(number: float, text: str):
    assert metric(number, "B") == text


def test_digits_stay_three_where_a_number_rounds_up():
    assert [digits(x) for x in (9.994, 9.996, 99.96)] == ["9.99", "10.0", "100"]


def test_columns_stand_under_each_other():
    assert align_columns([("a", "bb"), ("ccc", "d")]) == ["  a    bb", "  ccc  d"]


def test_one_is_not_many():
    assert [counted(k, "line") for k in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
