"""What both exports say of an event."""

from __future__ import annotations

import math

import pytest

from gnomon.profiler.details import details, group_events, rates
from gnomon.profiler.lanes import arrange
from gnomon.profiler.model import BufferRecord, Event, Line, Profile, Record
from tests.profiler.profiles import ADD, CPU

pytestmark = pytest.mark.unit


def test_long_lists_end_with_how_many_more():
    lines = tuple(Line("train.py", number) for number in range(12))
    buffers = tuple(BufferRecord(f"x{k}", "input", "float32", (k,), 4 * k) for k in range(10))
    record = Record(1, "many", "k", "step", lines, (), buffers, 0, 0)

    said = details(Event("kernel", "many", 0, 1, record=1), record)

    assert said["also"][-1] == "and 3 more"
    assert said["shapes"][-1] == "and 2 more"


def test_numbers_that_no_format_holds_become_words():
    noted = {"loss": math.nan, "seed": 1 << 70, "name": "\udcff", "": 3}

    said = details(Event("span", "a", 0, 1, args=noted), None)

    assert said == {"loss": "nan", "seed": str(1 << 70), "name": "\\udcff", "unnamed": 3}


def test_a_kernel_of_no_time_has_no_speed():
    events = [Event("kernel", "add", 5, 5, record=4), Event("kernel", "add", 6, 7, record=4)]
    profile = Profile(CPU, {4: ADD}, events)

    moved, counted = rates(profile, arrange(profile))

    assert (moved.tolist(), counted.tolist()) == ([0, 3200], [0, 600])


def test_a_batch_names_the_kernels_in_it():
    batch = Record(1, "batch", "k", "step", (), (), (), 0, 0, members=(ADD, ADD))

    said = details(Event("kernel", "batch", 0, 1, record=1), batch)

    assert said["kernels"] == ["map_add train.py:7", "map_add train.py:7"]


def test_calls_of_several_runs_are_drawn_alike():
    events = [Event("kernel", "add", 9 * k, 9 * k + 5, record=4, args={"run": k}) for k in range(3)]
    told = Event("kernel", "add", 30, 31, record=4, args={"run": 3, "loss": 0.5})
    layout = arrange(profile := Profile(CPU, {4: ADD}, [*events, told, told]))

    firsts, forms = group_events(profile, layout, layout.arrows()[0])

    assert (firsts, forms.tolist()) == ([0, 3, 4], [0, 0, 0, 1, 2])
    assert "run" not in details(told, ADD)


def test_an_allocation_that_took_time_is_not_drawn_as_a_point():
    events = [Event("alloc", "buffer", 5, 5, nbytes=8), Event("alloc", "buffer", 6, 9, nbytes=8)]
    layout = arrange(profile := Profile(CPU, events=events))

    assert group_events(profile, layout, layout.arrows()[0])[1].tolist() == [0, 1]
