"""Planners of PyTorch's names hold options, and a plan of one's own is refused."""

from __future__ import annotations

import pytest

from gnomon.distributed.checkpoint import DefaultLoadPlanner, DefaultSavePlanner
from gnomon.distributed.checkpoint.planners import check_planner
from gnomon.errors import ArgumentError

pytestmark = pytest.mark.unit


def test_plans_of_ones_own_are_refused():
    class Own(DefaultLoadPlanner):
        pass

    check_planner("load", DefaultLoadPlanner(allow_partial_load=True), DefaultLoadPlanner)
    check_planner("save", DefaultSavePlanner(dedup_save_to_lowest_rank=True), DefaultSavePlanner)
    with pytest.raises(ArgumentError, match="load: expected DefaultLoadPlanner or none: got Own"):
        check_planner("load", Own(), DefaultLoadPlanner)
