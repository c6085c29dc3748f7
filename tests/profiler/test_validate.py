"""The validator of traces finds what a viewer would drop or misplace."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gnomon.errors import ArgumentError
from gnomon.profiler.chrome import chrome
from tests.profiler.profiles import one_run
from tests.profiler.validate import check_chrome, faults

pytestmark = pytest.mark.unit

SPAN = {"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 1, "dur": 4}
NAMES = [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "p"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "t"}},
]


def of(*events: dict) -> list[str]:
    """The faults of events in a named lane."""
    return faults(json.dumps({"traceEvents": [*NAMES, *events]}))


def arrow(letter: str, time: float, **more: object) -> dict:
    """One end of an arrow."""
    place = {"pid": 1, "tid": 2, "ts": time}
    return {"ph": letter, "name": "go", "cat": "launch", "id": 5} | place | more


def test_a_sound_trace_has_no_faults():
    pair = [{"ph": "B", "name": "b", "pid": 1, "tid": 2, "ts": 6}]
    pair += [{"ph": "E", "pid": 1, "tid": 2, "ts": 7}]

    assert of(SPAN, *pair, arrow("s", 1), arrow("t", 2), arrow("f", 6.5)) == []


@pytest.mark.parametrize("field", ["name", "pid", "tid", "ts", "dur"])
def test_a_slice_needs_each_of_its_fields(field):
    assert of({k: v for k, v in SPAN.items() if k != field}) == [f"event 2 (X): no {field}."]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": ""}, "name is empty"),
        ({"dur": -1}, "dur is -1"),
        ({"ts": "1"}, "ts is '1'"),
        ({"pid": True}, "pid is True"),
        ({"ph": "Q"}, "unknown letter 'Q'"),
        ({"ph": "i", "s": "x"}, "s is 'x'"),
        ({"ph": "C", "args": {"bytes": "4"}}, "series 'bytes' is '4'"),
        ({"ph": "C", "args": {}}, "no series"),
        ({"ph": "M", "name": "colour", "args": {"name": "red"}}, "unknown metadata"),
        ({"ph": "M", "name": "thread_name", "args": {"name": ""}}, "args say no name"),
        ({"pid": 7}, "process 7 has no name"),
        ({"tid": 7}, "thread 7 of process 1 has no name"),
    ],
)
def test_a_wrong_field_is_named(change, fault):
    assert fault in " ".join(of(SPAN | change))


def test_a_slice_that_outlives_its_outer_one_is_found():
    assert of(SPAN, SPAN | {"ts": 3, "dur": 4}) == [
        "thread 2 of process 1: the slice at 3000 ns outlives the one it lies in."
    ]


@pytest.mark.parametrize("letter", ["B", "E"])
def test_a_begin_and_an_end_belong_together(letter):
    assert "without" in of(SPAN | {"ph": letter})[0]


@pytest.mark.parametrize(
    "parts",
    [
        [arrow("s", 1)],
        [arrow("f", 1)],
        [arrow("s", 3), arrow("f", 2)],
        [arrow("s", 1), arrow("s", 2), arrow("f", 3)],
        [arrow("s", 1), arrow("f", 9)],
    ],
)
def test_an_arrow_has_one_start_then_an_end_each_in_a_slice(parts):
    assert of(SPAN, *parts)[0].startswith("flow go 5: ")


@pytest.mark.parametrize("text", ['{"traceEvents": [{"ts": NaN}]}', "[1", "[]", "{}"])
def test_what_is_no_trace_is_said(text):
    assert len(faults(text)) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace('"dur":', '"last":', 1),
        lambda text: text.replace('"ph":"f"', '"ph":"s"', 1),
        lambda text: text.replace('"thread_name"', '"thread_sort_index"', 1),
    ],
)
def test_a_spoiled_trace_of_ours_is_refused(tmp_path, spoil: Callable[[str], str]):
    path = tmp_path / "trace.json"
    path.write_text(spoil(chrome(one_run()).decode()))

    with pytest.raises(ArgumentError, match=r"trace\.json: "):
        check_chrome(path)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1e308, "dur": 1}, "ts is 1e+308"),
        ({"ph": "M", "name": [], "pid": 1, "args": {}}, "name is []"),
        ({"ph": [], "name": "a"}, "unknown letter []"),
    ],
)
def test_values_that_no_trace_has_are_told_not_met(event, said):
    found = faults(json.dumps({"traceEvents": [event]}))

    assert any(said in each for each in found)


@pytest.mark.parametrize("trace", [b"\xff", b"[" * 100_000])
def test_what_is_no_text_and_what_is_too_deep_is_no_json(trace):
    (found,) = faults(trace)

    assert found.startswith("not JSON: ")
