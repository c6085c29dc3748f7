"""Several ranks on one clock."""

from __future__ import annotations

import pytest

from gnomon.errors import ArgumentError
from gnomon.profiler.merge import merge
from gnomon.profiler.model import Event, Profile
from tests.profiler.profiles import CPU

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
