"""Greedy clusters: nodes join what they read, and what is refused is said at once."""

from __future__ import annotations

from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.ops.joining import concat
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.schedule.cluster import ELSEWHERE
from gnomon.schedule.clustering import FREE_PARTS, Clustering
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


def grown(layers: int):
    """Each layer puts what it makes of all before it beside that, as DenseNet's do."""
    x = leaf(8, 4)
    for _ in range(layers):
        x = concat([x, unsqueeze(reduce("add", exp(x), (1,)), 1)], 1)
    return x


def test_a_join_of_joins_that_several_read_is_stored_before_readers_have_many_parts():
    made = Clustering(graph(exp(grown(12))))

    joins = [x for x in made.home if x.op == "map" and x.params["f"] == "where"]
    assert [x.shape[1] for x in joins] == [*range(6, 16, 2)]
    read = [x for x in made.parts if x not in made.home and made.users[x] > 1]
    assert max(made.parts[x] for x in read) == FREE_PARTS


def test_a_join_of_many_parts_is_seen_through_where_one_kernel_reads_it():
    arena = Arena()
    parts = [arena.input((8, 1), float32) for _ in range(12)]
    made = Clustering(graph(exp(concat(parts, 1) * 2.0)))

    assert len(made.home) == 1
