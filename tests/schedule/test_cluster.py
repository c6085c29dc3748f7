"""Clusters: what must run before one, directly or not."""

from __future__ import annotations

import pytest

from gnomon.ops.primitives import reduce
from gnomon.schedule.cluster import Cluster, closure, is_chain
from tests.schedule.kernels_of import leaf

pytestmark = pytest.mark.unit


def test_a_closure_holds_what_is_needed_by_what_is_needed():
    first, second, other = Cluster(1, 4), Cluster(1, 4), Cluster(1, 4)
    second.needs.add(first)
    third = Cluster(3, 4, needs={second})

    assert closure(third) == {first, second, third}
    assert other not in closure(third)


def test_a_domain_is_rows_by_elements():
    assert Cluster(3, 4).size == 12


def test_folds_of_the_last_axis_run_in_lanes_and_others_in_chains():
    x = leaf(5, 70)

    assert is_chain(reduce("add", x, (0,)))
    assert not is_chain(reduce("add", x, (1,)))
    assert not is_chain(x)
