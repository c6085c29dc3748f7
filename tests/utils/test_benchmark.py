"""Timers of statements: what they run, what is computed, and how tables print."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.utils.benchmark import Compare, Measurement, Timer, round_digits, select_unit


class Clock:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_a_statement_runs_so_often_behind_its_setup():
    seen: list[int] = []
    made = Timer(
        "k += 1\nseen.append(k)", "k = 10", timer=Clock(), globals={"seen": seen}, label="count"
    ).timeit(3)

    assert seen == [11, 12, 11, 12, 13]  # two runs that are not counted, then three
    assert (made.number_per_run, made.raw_times) == (3, [1.0])
    assert made.median == pytest.approx(1 / 3)


def test_the_value_of_a_statement_is_computed_in_its_run(monkeypatch):
    evaluate = __import__("sys").modules["gnomon.tensor.evaluate"]
    before = evaluate.evaluations
    Timer("x * 2", globals={"x": gn.ones(3)}).timeit(4)

    assert evaluate.evaluations - before == 6


def test_threads_are_those_that_were_asked_for_and_go_back():
    before, seen = gn.get_num_threads(), []
    Timer(
        "seen.append(n())", globals={"seen": seen, "n": gn.get_num_threads}, num_threads=1
    ).timeit(1)

    assert set(seen) == {1}
    assert gn.get_num_threads() == before


def test_measurements_go_on_until_their_time_is_over():
    made = Timer("pass", timer=Clock()).blocked_autorange(min_run_time=4)
    rows: list[tuple] = []
    few = Timer("pass", timer=Clock()).adaptive_autorange(callback=lambda *row: rows.append(row))

    assert made.raw_times == [1.0] * 4
    assert few.raw_times == [1.0] * 4
    assert rows == [(1, 1.0)] * 4


def test_statistics_are_those_of_one_run():
    made = Measurement(2, [2.0, 4.0, 6.0, 8.0], "sum", "rows", "ours", num_threads=2)

    assert (made.mean, made.median, made.iqr) == (2.5, 2.5, 1.5)
    assert made.has_warnings
    assert not made.meets_confidence(0.5)
    assert repr(made).splitlines() == [
        "sum: rows",
        "ours",
        "  Median: 2.50 s",
        "  4 measurements, 2 runs per measurement, 2 threads",
        "  WARNING: Interquartile range is 60.0% of the median measurement.",
    ]


def test_a_table_has_a_row_for_each_number_of_threads_and_sub_label():
    rows = [
        Measurement(1, [1e-6 * k * t], "add", f"{k} numbers", "ours", num_threads=t)
        for t in (1, 2)
        for k in (1, 12)
    ]
    table = Compare(rows[:2])
    table.extend_results([*rows[2:], Measurement(1, [2.5e-6], "add", "1 numbers", "theirs")])
    table.trim_significant_figures()

    assert str(table).splitlines() == [
        "[ add ]",
        "             |  ours  |  theirs",
        "1 threads: --------------------",
        " 1 numbers   |  1.00  |    2.50",
        " 12 numbers  |  12.0  |        ",
        "2 threads: --------------------",
        " 1 numbers   |  2.00  |        ",
        " 12 numbers  |  24.0  |        ",
        "Times are in microseconds (us).",
    ]


def test_other_languages_are_refused():
    with pytest.raises(ArgumentError, match="Timer: times statements of Python as text: got"):
        Timer("x + 1", language="c++")


@pytest.mark.parametrize(
    ("seconds", "unit"), [(3e-10, "ns"), (2e-9, "ns"), (3e-6, "us"), (0.5, "ms"), (90, "s")]
)
def test_a_unit_is_the_largest_that_fits(seconds, unit):
    assert select_unit(seconds)[0] == unit


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (1234, "1230")],
)
def test_digits_that_count(value, text):
    assert round_digits(value) == text
