"""The order of clusters: what it says of waiting is what a search of all of them says."""

from __future__ import annotations

import pytest

from gnomon.schedule import cluster_order
from gnomon.schedule.cluster import Cluster
from gnomon.schedule.cluster_order import ClusterOrder
from tests import drawn as st
from tests.drawn import given
from tests.schedule.waiting import waits_for

pytestmark = pytest.mark.unit

COUNT = 9
pairs = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)), max_size=30)


@given(pairs)
def test_it_agrees_with_a_search_whatever_joins(wanted: list[tuple[int, int]]):
    order, clusters = ClusterOrder(), [Cluster(1, 1) for _ in range(COUNT)]
    for each in clusters:
        order.open(each)

    for one, other in wanted:
        cluster, needed = clusters[one], clusters[other]
        refused = cluster is needed or waits_for([needed], cluster)
        assert order.waits_for([needed], cluster) == waits_for([needed], cluster)
        if not refused:
            order.need(cluster, needed)

    assert all(order.place[c] > order.place[n] for c in clusters for n in c.needs)
    assert sorted(order.place.values()) == list(range(COUNT))
    assert [order.place[c] for c in order.clusters] == list(range(COUNT))


@pytest.mark.parametrize("layers", [10, 40])
def test_a_backward_pass_is_seen_to_wait_without_a_look_at_all_of_it(
    layers: int, monkeypatch: pytest.MonkeyPatch
):
    """Each cluster of it needs the one before and, in reverse, one of the forward pass."""
    order, clusters, looks = ClusterOrder(), [Cluster(1, 1) for _ in range(2 * layers)], list[int]()
    for k, cluster in enumerate(clusters):
        order.open(cluster)
        for needed in {k - 1, 2 * layers - 1 - k} & set(range(k)):
            order.need(cluster, clusters[needed])
    pop = cluster_order.heappop
    monkeypatch.setattr(cluster_order, "heappop", lambda heap: looks.append(1) or pop(heap))

    assert order.waits_for([clusters[-1]], clusters[1])
    assert len(looks) < 4
