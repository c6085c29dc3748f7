"""Profiles of ranks as one, and the time for which each stood still; launched at the end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.profiler.model import Event, Profile
from gnomon.profiler.ranks import Standstill, as_one, standstills
from gnomon.profiler.store import read_profile
from tests.profiler.profiles import CPU
from tests.profiler.validate import faults


def meeting(rank: int, start: int, waited: int, end: int, offset: int = 0) -> Profile:
    """A rank's profile of one collective, of whose time it waited the last part."""
    args = {"group": "0, 1", "waited": waited}
    event = Event("comm", "all_reduce along data", start - offset, end - offset, args=args)
    events = [event, Event("kernel", "map", 0, 1, args={"run": 0})]
    return Profile(CPU, events=events, threads={0: "main"}, rank=rank, clock_offset=offset)


@pytest.mark.unit
def test_waiting_for_a_late_rank_is_apart_from_the_transfer():
    early = meeting(0, start=100, waited=400, end=600)
    late = meeting(1, start=450, waited=100, end=610, offset=-70)

    assert standstills([late, early]) == [
        Standstill(0, 1, flying=500, still=400, late=250),
        Standstill(1, 1, flying=160, still=100, late=0),
    ]


@pytest.mark.unit
def test_each_rank_has_lanes_runs_and_times_of_its_own():
    one = as_one([meeting(0, 100, 10, 200), meeting(1, 100, 10, 200, offset=7)])

    assert list(one.threads.values()) == ["rank 0: main", "rank 1: main"]
    assert [x.start for x in one.events] == [0, 7, 100, 100]
    assert len({x.thread for x in one.events}) == 2
    assert len({x.args["run"] for x in one.events if x.kind == "kernel"}) == 2


SMALL = [
    *("--set", "model.num_hidden_layers=1", "--set", "model.vocab_size=300"),
    *("--set", "train.sequence_length=32", "--set", "evaluation.stride=32"),
]


def test_launched_ranks_are_profiled_together(tmp_path: Path):
    launch = [sys.executable, "-m", "gnomon", "launch", "-n", "2", "profile", "tiny", *SMALL]

    done = subprocess.run(
        [*launch, "--steps", "1", "--out", "both"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert "clocks of ranks agree within" in done.stdout
    assert done.stdout.count("for late ranks") == 1
    trace = (tmp_path / "both" / "trace.json").read_bytes()
    assert faults(trace) == []
    assert {event["pid"] for event in json.loads(trace)["traceEvents"]} >= {1, 2}
    steps = [x for x in read_profile(tmp_path / "both").events if x.kind == "step"]
    assert len(steps) == 2
    first, second = sorted(steps, key=lambda x: x.start)
    assert second.start < first.end
