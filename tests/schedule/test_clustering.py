"""Greedy clusters: nodes join what they read, and what is refused is said at once."""

from __future__ import annotations

from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.schedule.cluster import ELSEWHERE
from gnomon.schedule.clustering import Clustering
from gnomon.schedule.partition import partition_of
from tests.schedule.kernels_of import graph, leaf, softmax


def test_without_fusion_every_node_has_a_cluster_of_its_own():
    made = graph(softmax(leaf(30, 40)))

    together, apart = Clustering(made), Clustering(made, fuse=False)

    assert len(together.clusters) == 1
    assert all(len(cluster.members) == 1 for cluster in apart.clusters)


def test_a_refusal_names_the_value_its_reader_and_why():
    x = leaf(30, 30)
    total = reduce("add", exp(x), (1,))
    made = Clustering(graph(exp(x * 2.0) + unsqueeze(total, 0)))

    assert {(w.value, w.refused) for w in made.decisions} == {(total, ELSEWHERE)}


def test_steps_only_add_to_what_was_decided_before_them():
    x = leaf(30, 30)
    total = reduce("add", exp(x), (1,))
    made = graph(exp(x * 2.0) + unsqueeze(total, 0))
    first = Clustering(made).decisions

    assert partition_of(made).decisions[: len(first)] == first
