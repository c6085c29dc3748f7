"""Clusters: what must run before one, directly or not."""

from __future__ import annotations

import pytest

from gnomon.ops.primitives import reduce
from gnomon.schedule.cluster import Cluster, is_chain
from tests.schedule.kernels_of import leaf
from tests.schedule.waiting import waits_for

pytestmark = pytest.mark.unit


def test_what_is_needed_by_what_is_needed_runs_before():
    first, second, other = Cluster(1, 4), Cluster(1, 4), Cluster(1, 4)
    second.needs.add(first)
    third = Cluster(3, 4, needs={second})

    assert waits_for([third], first)
    assert waits_for([other, third], second)
    assert not waits_for([third], other)
    assert not waits_for([third, first], third)
    assert not waits_for([first], first)


def test_a_domain_is_rows_by_elements():
    assert Cluster(3, 4).size == 12


def test_folds_of_the_last_axis_run_in_lanes_and_others_in_chains():
    x = leaf(5, 70)

    assert is_chain(reduce("add", x, (0,)))
    assert not is_chain(reduce("add", x, (1,)))
    assert not is_chain(x)
