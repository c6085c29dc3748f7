"""A global program as one rank's: values, collectives, what stays in parts, what is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gnomon.dtypes import float32, int64
from gnomon.errors import LayoutError
from gnomon.ir.node import Arena, Graph
from gnomon.ir.provenance import Site, in_backward, inherit
from gnomon.ops.attention import attention
from gnomon.ops.collectives import COLLECTIVES
from gnomon.ops.cross_entropy import cross_entropy
from gnomon.ops.elementwise import multiply
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.layouts import OwnRows, from_local
from gnomon.ops.linalg import linear
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.ops.primitives import reduce
from gnomon.passes.divide import divide
from gnomon.passes.shard import open_up, shard
from tests.controls import arrays, choice, loop
from tests.gradients import gradients
from tests.graphs import seed_of
from tests.passes.on_ranks import across, run_local

pytestmark = pytest.mark.unit

FORWARD = (Site("model.py", 1, "f"),)


def layers(width: int = 256, inner: int = 512) -> Graph:
    """Two layers and the gradients of their weights."""
    arena = Arena()
    x = arena.input((4, 2, width), float32, "x")
    w1 = arena.input((inner, width), float32, "w1")
    w2 = arena.input((width, inner), float32, "w2")
    y = linear(linear(x, w1), w2)
    loss = reduce("add", y * y, (0, 1, 2))
    return Graph([x, w1, w2], [loss, *gradients(loss, seed_of(loss), [w1, w2])])


def collectives(graph: Graph) -> Counter:
    """How often each collective occurs."""
    return Counter(node.op for node in graph if node.op in COLLECTIVES)


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        ((Split(0), REPLICATED, REPLICATED), (None, None, None), {"all_reduce": 3}),
        ((REPLICATED, Split(0), Split(1)), (None, Split(0), Split(1)), {"all_reduce": 1}),
        (
            (Split(0), Split(0), Split(0)),
            (None, Split(0), Split(0)),
            None,
        ),
        # products are shared out by rows, and only sums of weights' gradients and the loss travel
        ((REPLICATED, REPLICATED, REPLICATED), (None, None, None), {"all_reduce": 3}),
    ],
)
def test_values_and_collectives(inputs, outputs, expected, rng):
    graph = open_up(layers())
    arrays = [rng.integers(-1, 2, x.shape).astype(np.float32) for x in graph.inputs]
    whole = interpret_graph(graph, arrays)

    sharded = shard(graph, across(), inputs, outputs)
    made = run_local(sharded.graph, inputs, arrays, 2)

    assert expected is None or collectives(sharded.graph) == expected
    for k, lying in enumerate(sharded.outputs):
        parts = [outs[k] for outs in made]
        got = np.concatenate(parts, lying.axis) if isinstance(lying, Split) else parts[1]
        np.testing.assert_allclose(got, whole[k], rtol=1e-5)


@pytest.mark.parametrize("line", [FORWARD, in_backward(FORWARD)], ids=["forward", "backward"])
@pytest.mark.parametrize("gradient", [False, True])
def test_the_rows_say_whether_they_are_a_gradients_and_no_line_does(line, gradient):
    x, g = (Arena().input((3, 4), float32),) * 2
    with inherit(line):
        whole = from_local(g, (("shard", 2, Split(0)),), rows=OwnRows(("shard",), gradient))
        y = reduce("add", multiply(whole, from_local(x, (("shard", 2, Split(0)),))), (0,))

    (made,) = [node for node in divide(Graph([x], [y])) if node.op == "all_reduce"]

    assert made.params.get("rows", 0) == (0 if gradient else 6)


def test_an_output_may_stay_a_pending_sum():
    graph = open_up(layers())

    sharded = shard(graph, across(), (Split(0), REPLICATED, REPLICATED), (None, Partial(), None))

    assert sharded.outputs[1] == Partial("add")
    assert collectives(sharded.graph) == {"all_reduce": 2}


def test_a_split_gradient_is_reduced_and_scattered_at_once():
    graph = open_up(layers())

    sharded = shard(graph, across(), (Split(0), REPLICATED, REPLICATED), (None, Split(0), Split(1)))

    assert collectives(sharded.graph) == {"all_reduce": 1, "reduce_scatter": 2}


def test_a_split_vocabulary_needs_three_small_messages(rng):
    arena = Arena()
    scores = arena.input((2, 3, 256), float32, "scores")
    target = arena.input((2, 3), int64, "target")
    loss = cross_entropy(scores, target, axis=2)
    graph = open_up(Graph([scores, target], [loss, *gradients(loss, seed_of(loss), [scores])]))
    arrays = [rng.standard_normal((2, 3, 256)).astype(np.float32), rng.integers(0, 256, (2, 3))]
    whole = interpret_graph(graph, arrays)

    sharded = shard(graph, across(), (Split(2), REPLICATED), (None, Split(2)))
    made = run_local(sharded.graph, (Split(2), REPLICATED), arrays, 2)

    # the maximum, the sum of exponentials, the score that is right; no rank sees all scores
    assert collectives(sharded.graph) == {"all_reduce": 3}
    assert max(x.size for x in sharded.graph) == scores.size // 2
    np.testing.assert_allclose(made[0][0], whole[0], rtol=1e-6)
    np.testing.assert_allclose(np.concatenate([m[1] for m in made], 2), whole[1], atol=1e-7)


def test_what_is_read_in_parts_is_made_in_parts():
    arena = Arena()
    table = arena.input((8, 4), float32, "table")
    row = arena.input((4,), float32, "row")
    mask = arena.node(
        "map", (arena.node("iota", (), size=8, dtype=int64),), f="cast", dtype=float32
    )
    column = arena.node("reshape", (mask,), shape=(8, 1))
    graph = Graph([table, row], [table * column])

    sharded = shard(graph, across(), (Split(0), REPLICATED), (None,))

    assert [x.shape for x in sharded.graph if x.op == "iota"] == [(4,)]


def test_attention_stays_a_region_over_its_parts():
    arena = Arena()
    q, k, v = (arena.input((2, 4, 3, 8), float32, n) for n in "qkv")
    y = attention(q, k, v, causal=True)
    graph = open_up(Graph([q, k, v], [y, *gradients(y, y, [q, k, v])]))

    sharded = shard(graph, across(), (Split(1),) * 3, (None,) * 4)

    regions = {x.params["name"]: x for x in sharded.graph if x.op == "region"}
    assert set(regions) == {"attention_forward", "attention_backward"}
    assert all(x.inputs[0].shape == (2, 2, 3, 8) for x in regions.values())
    assert not collectives(sharded.graph)


def test_unequal_parts_are_refused_by_name():
    with pytest.raises(LayoutError, match=r"shard: w1 \(512, 256\) cannot be S\(0\): 3 ranks"):
        shard(layers(), across(3), (REPLICATED, Split(0), REPLICATED), (None,) * 3)


@pytest.mark.parametrize("make", [loop, choice])
def test_choices_and_loops_run_whole_on_every_rank(make):
    graph = open_up(make())
    given = arrays(graph)
    whole = interpret_graph(graph, given)
    inputs = [Split(0), REPLICATED, REPLICATED]

    sharded = shard(graph, across(), inputs, [REPLICATED] * len(graph.outputs))

    assert collectives(sharded.graph) == {"all_gather": 1}
    for held in run_local(sharded.graph, inputs, given, 2):
        for mine, theirs in zip(held, whole, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_program_of_primitives_alone_is_taken_as_it_is():
    opened = open_up(layers())

    assert open_up(opened) is opened
