"""Chrome traces: what a viewer would show of a profile."""

from __future__ import annotations

import json

import pytest

from gnomon.profiler.chrome import chrome, write_chrome
from gnomon.profiler.model import Event, Profile
from tests.drawn import examples, given
from tests.profiler.profiles import ADD, CPU, one_run, profiles
from tests.profiler.validate import faults

pytestmark = pytest.mark.unit


def shown(profile: Profile | list[Profile], letter: str) -> list[dict]:
    """The events of one letter."""
    return [event for event in json.loads(chrome(profile))["traceEvents"] if event["ph"] == letter]


def test_a_kernel_slice_tells_its_lines_shapes_and_speed():
    kernel = next(event for event in shown(one_run(), "X") if event["cat"] == "kernel")

    assert (kernel["name"], kernel["ts"], kernel["dur"]) == ("map_add", 2.0, 1.6)
    assert kernel["args"] == {
        "line": "train.py:7",
        "function": "step",
        "module": "layers.0",
        "phase": "backward",
        "also": ["model.py:21"],
        "shapes": ["input x: float32[2, 3]", "output y: float32[2]"],
        "bytes": 3200,
        "flops": 600,
        "program": "step",
        "record": 4,
        "GB/s": 2.0,
        "GFLOP/s": 0.375,
    }


def test_an_arrow_leads_from_the_run_to_each_of_its_kernels():
    starts, ends = shown(one_run(), "s"), shown(one_run(), "f")
    threads = [event["tid"] for event in shown(one_run(), "X") if event["cat"] == "kernel"]

    assert [start["ts"] for start in starts] == [1.0, 1.0]
    assert [(end["ts"], end["tid"]) for end in ends] == [(2.0, threads[0]), (4.0, threads[1])]
    assert [start["id"] for start in starts] == [end["id"] for end in ends]


def test_live_bytes_are_a_counter():
    assert [(c["ts"], c["args"]["bytes"]) for c in shown(one_run(), "C")] == [(1.5, 64), (7.0, 0)]


def test_spans_that_overlap_without_nesting_lie_in_two_lanes():
    crossing = [Event("span", "a", 0, 50), Event("span", "b", 30, 80), Event("span", "c", 40, 45)]

    lanes = {event["name"]: event["tid"] for event in shown(Profile(CPU, events=crossing), "X")}
    names = [e["args"].get("name") for e in shown(Profile(CPU, events=crossing), "M")]

    assert lanes["a"] != lanes["b"] == lanes["c"]
    assert {"thread 0", "thread 0, beside it 1"} <= set(names)


def test_the_header_tells_rank_and_clock():
    profile = Profile(CPU, rank=2, world=4, clock_offset=-70)

    top = json.loads(chrome(profile))

    assert top["distributedInfo"] == {"rank": 2, "world_size": 4}
    assert top["gnomon"]["ranks"][0]["clock_offset"] == -70


def test_several_ranks_go_on_one_clock():
    run = [Event("step", "step", 1000, 3000)]
    late = Profile(CPU, events=run, rank=1, world=2, clock_offset=500)

    slices = shown([late, Profile(CPU, events=run, world=2)], "X")

    assert [(event["pid"], event["ts"]) for event in slices] == [(1, 1.0), (2, 1.5)]


def test_a_file_is_written(tmp_path):
    write_chrome(one_run(), tmp_path / "trace.json")

    assert faults((tmp_path / "trace.json").read_bytes()) == []


def test_a_record_that_is_not_known_is_named_by_number():
    lone = Profile(CPU, {4: ADD}, [Event("kernel", "", 0, 5, record=9)])

    (kernel,) = shown(lone, "X")

    assert (kernel["name"], kernel["args"]["record"]) == ("kernel", 9)


@examples(40)
@given(profiles(), profiles(rank=1, world=2))
def test_any_profile_gives_a_sound_trace(first, second):
    assert faults(chrome(first)) == []
    assert faults(chrome([second, first])) == []
