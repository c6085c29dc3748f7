"""A loop kernel is offered to a judge in two parts, where they exchange least."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.schedule.cut import cut, cuts
from gnomon.schedule.fusion import Act, Fusion
from gnomon.schedule.partition import partition_of
from gnomon.schedule.placed import Placed
from tests.schedule.kernels_of import graph, leaf, partition, softmax

pytestmark = pytest.mark.unit


def test_a_cut_stores_what_crosses_it_and_reads_again_what_both_need():
    x = leaf(30, 40)
    made = partition(softmax(x))
    (cluster,) = made.clusters

    found = min(cuts(made, cluster), key=lambda each: each.apart)

    first = {*cluster.members} - {*found.nodes}
    assert [y.op for y in first] == ["reduce"]
    rows, whole = 30 * 4, 30 * 40 * 4
    assert (found.together, found.apart) == (whole, 2 * whole + 2 * rows)


def test_kernels_that_a_judge_wants_apart_are_cut_until_it_is_content():
    asked: list[int] = []

    def judge(placed: Placed, fusion: Fusion, act: Act) -> Fusion:
        asked.append(len(fusion.nodes))
        return replace(fusion, refused="slower")

    made = partition_of(graph(softmax(leaf(30, 40))))
    told = cut(made, judge)

    homes = [c.members for c in made.ordered()]
    assert len(homes) == len(asked) + 1 == 4
    assert [len(c.needs) for c in made.ordered()] == [0, 1, 2, 3]
    assert all(made.home[x] in made.clusters for members in homes for x in members)
    assert {w.refused for w in told} == {"slower"}


def test_values_of_a_row_stay_with_a_fold():
    x = leaf(30, 40)
    total = unsqueeze(reduce("add", x * x, (1,)), 1)
    made = partition(x + x / total, total * 3.0, total * total + 1.0)
    clusters = [c for c in made.clusters if any(c.members.values())]

    for cluster in clusters:
        for fusion in cuts(made, cluster):
            parts = {*fusion.nodes}, {*cluster.members} - {*fusion.nodes}
            once = [{y.op for y in part if cluster.members[y]} for part in parts]
            assert all("reduce" in ops for ops in once if ops)
    assert any(len(c.members) > 2 for c in clusters)


def test_what_folds_in_chains_or_is_one_value_is_not_cut():
    x = leaf(30, 40)

    for root in (exp(x), reduce("add", exp(x) * x, (0,))):
        made = partition(root)
        assert [f for c in made.clusters for f in cuts(made, c)] == []
