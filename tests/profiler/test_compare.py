"""Lines are found again in an edited file, and what they cost is compared for a step."""

import pytest
from msgspec.structs import replace

from gnomon.profiler.compare import changes, compare_table, line_moves
from gnomon.profiler.model import Event, Line, MachineLimits, Profile, Record
from tests.profiler.synthetic import made_up
from tests.profiler.test_tables import shown

pytestmark = pytest.mark.unit

TEXT = "a = 1\nb = a + 1\nc = b + 1\n"


def profile(text=TEXT, file="x.py", steps=1, **times) -> Profile:
    """A step that spends the named times, in microseconds, at lines l1, l2, ..."""
    made = Profile(MachineLimits("m", 1, 1e9, 1e9), sources={file: text})
    clock = 0
    for _ in range(steps):
        began = clock
        for name, time in times.items():
            number = int(name[1:])
            lines = (Line(file, number),)
            made.records[number] = Record(number, name, name, "p", lines, (), (), 0, 0)
            made.events.append(Event("kernel", name, clock, clock + 1000 * time, 0, number))
            clock += 1000 * time
        made.events.append(Event("step", "s", began, clock))
    return made


def table_of(before, after):
    """Changes as (line, before, after) in microseconds."""
    return [
        (x.line, x.before and x.before.time / 1e3, x.after and x.after.time / 1e3)
        for x in changes(before, after)
    ]


def test_the_largest_change_comes_first():
    found = table_of(profile(l1=10, l2=30, l3=5), profile(l1=11, l2=10, l3=9))

    assert found == [(2, 30, 10), (3, 5, 9), (1, 10, 11)]


def test_costs_are_those_of_a_step():
    assert table_of(profile(l1=10, steps=2), profile(l1=10, steps=6)) == [(1, 10, 10)]


def test_lines_that_moved_are_found_again():
    after = profile("# new\n" + TEXT, l2=10, l3=30, l4=7)

    found = table_of(profile(l1=10, l2=30, l3=5), after)

    assert sorted(found) == [(2, 10, 10), (3, 30, 30), (4, 5, 7)]


def test_a_line_that_was_rewritten_stays_the_same_line():
    after = profile(TEXT.replace("a + 1", "2"), l2=3)

    assert table_of(profile(l2=30), after) == [(2, 30, 3)]


def test_a_line_that_went_is_kept_with_its_text():
    before, after = profile(l2=30), profile("a = 1\nc = 3\n", l2=1)

    gone = next(x for x in changes(before, after) if x.after is None)

    assert (gone.file, gone.line, gone.text) == ("x.py (before)", 2, "b = a + 1")
    assert "x.py:2 (before)  b = a + 1" in shown(compare_table(before, after))


def test_a_file_in_another_folder_is_found_by_its_name():
    found = changes(profile(file="/old/x.py", l1=1), profile(file="/new/x.py", l1=2))

    assert [(x.file, x.before.time, x.after.time) for x in found] == [("/new/x.py", 1000, 2000)]


def test_a_profile_does_not_differ_from_itself():
    text = shown(compare_table(made_up(), made_up()))

    assert {row.split()[4] for row in text.splitlines()[1:] if row.strip()} == {"+0.00"}


def test_without_texts_lines_are_compared_by_number():
    before, after = (replace(profile(l1=1, l2=n), sources={}) for n in (5, 9))

    assert table_of(before, after) == [(2, 5, 9), (1, 1, 1)]


def test_nothing_moves_in_equal_texts():
    assert line_moves(TEXT, TEXT) == {1: 1, 2: 2, 3: 3}
