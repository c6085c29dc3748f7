"""Pooling's windows and what they give back: beside loops written out, ties and all."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.pooling import avg_pool, max_pool
from tests.compiled import run, threads
from tests.gradients import gradients
from tests.oracle.graphs import exact
from tests.strategies import same_bits

GEOMETRIES = [
    ((7, 9), (3, 3), (2, 2), ((1, 1), (1, 1)), (1, 1)),
    ((8, 8), (3, 2), (1, 2), ((1, 0), (0, 1)), (2, 1)),
    ((6, 7), (2, 3), (2, 3), ((0, 0), (1, 1)), (1, 1)),
    ((9, 10), (2, 2), (3, 4), ((0, 0), (0, 0)), (1, 1)),
    ((11,), (4,), (3,), ((2, 1),), (2,)),
]
"""(size, kernel, stride, padding, dilation)"""


def pooled(pool, geometry, rng):
    """The graph of a pool and its gradient, and arrays in which many elements are equal."""
    size, kernel, stride, padding, dilation = geometry
    arena = Arena()
    x = arena.input((2, 3, *size), float32)
    more = (dilation,) if pool is max_pool else (padding,)
    y = pool(x, kernel, stride, padding, *more)
    g = arena.input(y.shape, float32)
    graph = Graph([x, g], [y, gradients(y, g, [x])[0]])
    return graph, [rng.integers(-2, 3, v.shape).astype(np.float32) for v in (x, g)]


def by_definition(pool, geometry, x, g):
    """The pool and its gradient, window by window."""
    size, kernel, stride, padding, dilation = geometry
    y, dx = np.zeros(g.shape), np.zeros(x.shape)
    for n, c, *place in np.ndindex(g.shape):
        rows = [
            [p * s - low + u * d for u in range(k)]
            for p, s, (low, _), k, d in zip(place, stride, padding, kernel, dilation, strict=True)
        ]
        inside = [
            at for at in product(*rows) if all(0 <= i < m for i, m in zip(at, size, strict=True))
        ]
        where = (n, c, *place)
        if pool is max_pool:
            values = [x[(n, c, *at)] for at in inside]
            y[where] = max(values)
            dx[(n, c, *inside[values.index(max(values))])] += g[where]
            continue
        for at in inside:
            y[where] += x[(n, c, *at)] / np.prod(kernel)
            dx[(n, c, *at)] += g[where] / np.prod(kernel)
    return y, dx


CASES = [(max_pool, g) for g in GEOMETRIES]
CASES += [(avg_pool, g) for g in GEOMETRIES if max(g[4]) == 1]


@pytest.mark.parametrize(("pool", "geometry"), CASES, ids=str)
def test_a_pool_and_its_gradient_are_those_of_the_definition(pool, geometry, rng):
    graph, arrays = pooled(pool, geometry, rng)

    for found, wanted in zip(
        run(graph, arrays), by_definition(pool, geometry, *arrays), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("pool", "geometry"), CASES, ids=str)
def test_threads_kernels_and_the_definition_agree_to_the_bit(pool, geometry, rng):
    graph, arrays = pooled(pool, geometry, rng)
    arrays = [(v * np.float32(0.1)).astype(np.float32) for v in arrays]

    expected = exact(graph, arrays)

    for without, count in (("", 1), ("", 3), ("claim", 1)):
        with threads(count):
            pairs = zip(run(graph, arrays, without=without), expected, strict=True)
            assert all(same_bits(found, wanted) for found, wanted in pairs)
