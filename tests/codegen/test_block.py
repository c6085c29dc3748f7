"""Values of a loop kernel: what masked reads give, what is kept between passes, at any width."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int64, uint8
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import reduce, reshape, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import pad, permute, slice_
from tests.compiled import program, run
from tests.oracle.graphs import exact
from tests.strategies import same_bits


def check(graph: Graph, *arrays: np.ndarray) -> None:
    """Compiled code gives the oracle's bits."""
    for found, expected in zip(run(graph, arrays), exact(graph, arrays), strict=True):
        assert same_bits(found, expected)


def leaf(shape: tuple[int, ...], dtype: DType = float32) -> Node:
    """An input in an arena of its own."""
    return Arena().input(shape, dtype)


@pytest.mark.parametrize("fill", [2.0, -0.0, 0.0, -3.0])
@pytest.mark.parametrize("dtype", [bfloat16, float16, float32, float64, int8, int64, bool_])
def test_a_guarded_read_fills_with_the_constant(dtype: DType, fill: float):
    x = leaf((5,), dtype)

    check(Graph([x], [pad(x, (2,), (13,), fill)]), np.ones(5, dtype.numpy))


@pytest.mark.parametrize("n", [2, 17, 64, 130, 256])
@pytest.mark.parametrize("dtype", [bfloat16, float16, float32, float64])
def test_what_is_kept_between_passes_stays_whole(dtype: DType, n: int, rng: np.random.Generator):
    x = leaf((3, n), dtype)
    e = exp(x - unsqueeze(reduce("max", x, (1,)), 1))
    y = e / unsqueeze(reduce("add", e, (1,)), 1)
    graph = Graph([x], [y])

    assert len(program(graph).kernels) == 1
    check(graph, rng.normal(size=(3, n)).astype(dtype.numpy))


@pytest.mark.parametrize("n", [1, 15, 16, 17, 63, 64, 65, 200])
def test_ragged_rows_are_read_and_written_whole(n: int, rng: np.random.Generator):
    x = leaf((3, n))

    check(Graph([x], [permute(x, (1, 0)) * 2.0]), rng.normal(size=(3, n)).astype(np.float32))


def test_elements_that_are_not_neighbours_are_collected(rng: np.random.Generator):
    x = leaf((5, 40))
    strided = slice_(x, ((0, 5, 2), (39, -1, -3)))

    check(Graph([x], [strided + 1.0]), rng.normal(size=(5, 40)).astype(np.float32))


def test_a_looked_up_row_may_be_cut_again(rng: np.random.Generator):
    x = leaf((20,))
    index = x.arena.input((5,), int64)
    rows = gather("ab,z->zb", reshape(x, (2, 10)), index)

    check(
        Graph([x, index], [rows]),
        rng.normal(size=20).astype(np.float32),
        np.array([1, 0, 1, 1, 0]),
    )


def test_bytes_hold_truth_values(rng: np.random.Generator):
    x = leaf((3, 33), uint8)
    y = x.arena.node("map", (x,), f="cast", dtype=bool_)
    graph = Graph([x], [y, reduce("or", y, (1,)), reduce("and", y, (0,))])

    check(graph, rng.integers(0, 3, (3, 33)).astype(np.uint8))
