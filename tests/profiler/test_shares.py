"""Time is divided without rest: between events that run at once, then between lines."""

import numpy as np
import pytest

from gnomon.profiler.model import Event, Line, OpRecord, Record
from gnomon.profiler.shares import NOWHERE, calls_of, line_shares, member_shares, time_shares
from tests.profiler.synthetic import made_up

pytestmark = pytest.mark.unit

HERE, THERE = Line("a.py", 1), Line("a.py", 2)


def kernel(start, end, thread=0, record=1):
    return Event("kernel", "k", start, end, thread, record)


def record(*ops, lines=(HERE,)):
    return Record(1, "k", "k", "p", lines, ops, (), 0, 0)


def test_a_kernel_on_all_threads_has_its_time_once():
    assert time_shares([kernel(0, 10, 0), kernel(0, 10, 1)]).tolist() == [5, 5]


def test_a_kernel_for_which_others_wait_has_all_of_its_time():
    shares = time_shares([kernel(0, 10, 0), kernel(0, 4, 1), kernel(12, 20, 0)])

    assert shares.tolist() == [2 + 6, 2, 8]


def test_shares_add_up_to_the_time_in_which_anything_ran(rng):
    starts = rng.integers(0, 1000, 200)
    ends = starts + rng.integers(0, 60, 200)
    events = [
        kernel(int(a), int(b), i % 3) for i, (a, b) in enumerate(zip(starts, ends, strict=True))
    ]

    busy = np.zeros(2000, bool)
    for event in events:
        busy[event.start : event.end] = True

    assert time_shares(events).sum() == pytest.approx(busy.sum())


def test_no_events_have_no_time():
    assert time_shares([]).tolist() == []


def test_lines_of_a_kernel_share_by_flops():
    found = line_shares(record(OpRecord("a", (HERE,), flops=90), OpRecord("b", (THERE,), flops=10)))

    assert found == {HERE: 0.9, THERE: 0.1}


def test_lines_share_equally_where_flops_are_unknown():
    found = line_shares(record(OpRecord("a", (HERE,)), OpRecord("b", (HERE, THERE))))

    assert found == {HERE: 0.75, THERE: 0.25}
    assert line_shares(record(lines=(HERE, THERE))) == {HERE: 0.5, THERE: 0.5}


def test_an_operation_without_a_line_belongs_to_the_first_of_its_kernel():
    assert line_shares(record(OpRecord("a"))) == {HERE: 1.0}
    assert line_shares(record(OpRecord("a"), lines=())) == {NOWHERE: 1.0}


def test_parts_of_every_record_add_up_to_one():
    for each in made_up().records.values():
        assert sum(line_shares(each).values()) == pytest.approx(1)


def test_threads_that_share_a_call_count_once():
    events = [kernel(0, 1, 0), kernel(0, 1, 1), kernel(2, 3, 0), kernel(2, 3, 1, record=2)]

    assert calls_of(events) == {1: 2, 2: 1}


def test_members_of_a_batch_share_by_bytes():
    sizes = [(HERE, 30), (THERE, 10), (HERE, 0)]
    members = [Record(2, "m", "m", "p", (line,), (), (), 0, size) for line, size in sizes]
    batch = Record(1, "k", "k", "p", (HERE, THERE), (), (), 0, 40, members=tuple(members))

    assert member_shares(batch) == [0.75, 0.25, 0]
    assert line_shares(batch) == {HERE: 0.75, THERE: 0.25}


def test_runs_on_two_threads_are_two_calls():
    runs = [Event("kernel", "k", 0, 9, k, 1, args={"run": k}) for k in range(2)]

    assert calls_of([*runs, *runs]) == {1: 4}
    assert calls_of([Event("kernel", "k", 0, 9, k, 1, args={"run": 0}) for k in range(2)]) == {1: 1}
