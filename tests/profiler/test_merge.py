"""Several ranks on one clock."""

from __future__ import annotations

import json

import pytest

from gnomon.errors import ArgumentError
from gnomon.profiler.chrome import chrome
from gnomon.profiler.merge import meetings, merge
from gnomon.profiler.model import Event, Profile
from gnomon.profiler.perfetto import pieces
from tests.profiler.packets import fields, values
from tests.profiler.profiles import CPU
from tests.profiler.validate import faults

pytestmark = pytest.mark.unit


def test_an_offset_before_the_beginning_moves_all_ranks():
    run = [Event("step", "step", 10, 20)]
    ranks = [
        Profile(CPU, events=run, rank=rank, world=2, clock_offset=-30 * rank) for rank in (1, 0)
    ]

    merged = merge(ranks)

    assert [(p.rank, p.events[0].start, p.clock_offset) for p in merged] == [
        (0, 30, -20),
        (1, 0, -20),
    ]
    assert run[0].start == 10


def test_a_rank_given_twice_is_refused():
    with pytest.raises(ArgumentError, match=r"ranks repeat: \[3, 3\]"):
        merge([Profile(CPU, rank=3), Profile(CPU, rank=3)])


def ranks(*times: tuple[int, int], group: str = "data 0") -> list[Profile]:
    """Ranks that take part in one collective, at these times."""
    args = {"group": group}
    events = [
        [Event("step", "step", 0, 99), Event("comm", "all_reduce along x", *time, args=args)]
        for time in times
    ]
    return [Profile(CPU, events=each, rank=k, world=9) for k, each in enumerate(events)]


def test_ranks_that_meet_are_told_in_the_order_in_which_they_came():
    assert meetings(ranks((30, 50), (10, 50), (20, 51))) == [[(1, 1), (2, 1), (0, 1)]]


def test_ranks_of_other_groups_do_not_meet():
    first, second = ranks((30, 50))[0], ranks((30, 50), (31, 50), group="data 1")[1]

    assert meetings([first, second]) == []


def test_parts_that_do_not_overlap_are_not_one_collective():
    assert meetings(ranks((10, 20), (30, 40))) == []


def test_both_traces_lead_an_arrow_from_rank_to_rank():
    both = ranks((30, 50), (10, 50), (20, 51))

    links = [e for e in json.loads(chrome(both))["traceEvents"] if e.get("name") == "meeting"]
    packets = [dict(fields(x)) for x in values(b"".join(pieces(both)), 1)]
    met = [values(x[11], 47) + values(x[11], 48) for x in packets if 11 in x]

    assert faults(chrome(both)) == []
    assert [(e["ph"], e["ts"], e["pid"]) for e in links] == [
        ("s", 0.01, 2),
        ("t", 0.02, 3),
        ("f", 0.03, 1),
    ]
    assert sum(1 in flows for flows in met) == 3
