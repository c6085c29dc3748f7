"""Chains: sums down the columns, in ascending order, leaf by leaf, those of one range together."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.primitives import expand, reduce, unsqueeze
from tests.compiled import program, run, threads
from tests.oracle.graphs import exact


def column_sums(rows: int, columns: int, *results) -> tuple[Graph, Node]:
    """Results of one input."""
    arena = Arena()
    x = arena.input((rows, columns), float32)
    return Graph([x], [make(x) for make in results]), x


@pytest.mark.parametrize("rows", [1, 3, 64, 1000])
@pytest.mark.parametrize("columns", [1, 5, 16, 70])
def test_a_sum_down_the_columns_is_the_oracles(rows, columns, rng):
    graph, _ = column_sums(rows, columns, lambda x: reduce("add", x, (0,)))
    x = rng.standard_normal((rows, columns)).astype(np.float32)

    (found,) = run(graph, [x])

    assert found.tobytes() == exact(graph, [x])[0].tobytes()


def test_one_leaf_is_added_in_ascending_order():
    graph, _ = column_sums(3, 2, lambda x: reduce("add", x, (0,)))
    x = np.array([[1e8, -0.0], [1.0, -0.0], [-1e8, -0.0]], np.float32)

    (found,) = run(graph, [x])

    assert found.tolist() == [0.0, 0.0]
    assert np.signbit(found[1])


def test_sums_over_one_range_share_their_loop(rng):
    graph, _ = column_sums(
        24, 33, lambda x: reduce("add", x, (0,)), lambda x: reduce("add", x * x, (0,))
    )
    x = rng.standard_normal((24, 33)).astype(np.float32)

    made = program(graph)

    assert len(made.kernels) == 1
    for found, expected in zip(run(graph, [x]), exact(graph, [x]), strict=True):
        assert found.tobytes() == expected.tobytes()


def test_threads_do_not_change_a_chain(rng):
    graph, _ = column_sums(128, 300, lambda x: reduce("add", x, (0,)))
    x = rng.standard_normal((128, 300)).astype(np.float32)
    found = []

    for count in (1, 2):
        with threads(count):
            found.append(run(graph, [x])[0].tobytes())

    assert found[0] == found[1]


def test_pairs_of_sums_of_which_one_reads_the_other_do_not_wait_in_a_circle(rng):
    def spread(x: Node) -> Node:
        mean = reduce("add", x, (0,)) * (1 / 24)
        away = x - expand(unsqueeze(mean, 0), x.shape)
        return reduce("add", away * away, (0,))

    graph, _ = column_sums(24, 33, lambda x: spread(x) + spread(x * x))
    x = rng.standard_normal((24, 33)).astype(np.float32)

    assert run(graph, [x])[0].tobytes() == exact(graph, [x])[0].tobytes()
