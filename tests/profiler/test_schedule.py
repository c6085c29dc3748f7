"""Which steps are recorded, with PyTorch's names."""

from __future__ import annotations

import gzip
import json

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.profiler.schedule import ProfilerAction, schedule, tensorboard_trace_handler

LETTERS = {"NONE": ".", "WARMUP": "w", "RECORD": "r", "RECORD_AND_SAVE": "s"}


def told(steps: int, **words: int) -> str:
    """A letter for each step."""
    chosen = schedule(**words)
    return "".join(LETTERS[chosen(step).name] for step in range(steps))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"wait": 1, "warmup": 1, "active": 2}, ".wrs.wrs.wrs"),
        ({"wait": 1, "warmup": 1, "active": 2, "repeat": 2}, ".wrs.wrs...."),
        ({"wait": 0, "warmup": 0, "active": 1}, "ssssssssssss"),
        ({"wait": 2, "warmup": 1, "active": 1, "skip_first": 3}, ".....ws..ws."),
        (
            {"wait": 2, "warmup": 1, "active": 1, "skip_first": 1, "skip_first_wait": 1},
            ".ws..ws..ws.",
        ),
    ],
)
def test_a_schedule_says_what_each_step_is(words, expected):
    assert told(12, **words) == expected


@pytest.mark.unit
@pytest.mark.parametrize(
    "words", [{"wait": -1, "warmup": 0, "active": 1}, {"wait": 0, "warmup": 0, "active": 0}]
)
def test_a_schedule_that_records_nothing_is_refused(words):
    with pytest.raises(ArgumentError, match="active is 1 or more"):
        schedule(**words)


@pytest.mark.parametrize("packed", [False, True])
def test_the_handler_writes_a_trace_for_each_stretch(tmp_path, packed):
    words = {"use_gzip": packed, "use_python_export": not packed}
    handler = tensorboard_trace_handler(tmp_path / "traces", "worker", **words)
    chosen = gn.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with gn.profiler.profile(schedule=chosen, on_trace_ready=handler) as prof:
        for _ in range(5):
            (gn.ones(8) * 2).tolist()
            prof.step()

    files = sorted((tmp_path / "traces").iterdir())
    assert len(files) == 2
    for file in files:
        content = gzip.decompress(file.read_bytes()) if packed else file.read_bytes()
        assert any(event.get("cat") == "kernel" for event in json.loads(content)["traceEvents"])
    assert ProfilerAction.NONE.name == "NONE"
