"""Every rank runs, and a failure is raised once, by its own name."""

from __future__ import annotations

import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import run_ranks
from gnomon.runtime.comm import here
from gnomon.settings import current, override

pytestmark = pytest.mark.unit


def test_ranks_answer_in_order():
    assert run_ranks(DeviceMesh.of({"a": 2, "b": 2}), lambda rank: rank) == [0, 1, 2, 3]


def test_the_first_failure_is_the_one_that_is_raised():
    def work(rank):
        if rank == 1:
            raise ValueError("rank one is ill")
        return here.link_along("data").tell(b"well")

    with pytest.raises(ValueError, match="rank one is ill"):
        run_ranks(DeviceMesh.of({"data": 4}), work)


def test_ranks_see_the_settings_of_whoever_starts_them():
    with override(numerics="fast"):
        seen = run_ranks(DeviceMesh.of({"data": 2}), lambda rank: current().numerics)

    assert seen == ["fast", "fast"]
