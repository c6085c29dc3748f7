"""Windows times kernels: beside sums written out, and the same bits however they are run."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.sliding import convolved, kernel_gradient, spread_back
from gnomon.ops.windows import phases
from tests.compiled import program, run, threads
from tests.oracle.graphs import exact
from tests.strategies import same_bits

GEOMETRIES = [
    ((7, 9), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((8, 6), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    ((9, 8), (2, 3), (2, 1), (2, 2), (1, 0), 2),
    ((10, 11), (3, 2), (3, 4), (2, 2), (0, 2), 1),
    ((6, 7), (1, 1), (2, 2), (1, 1), (0, 0), 1),
    ((12,), (4,), (2,), (1,), (1,), 1),
    ((5, 6, 4), (2, 3, 1), (2, 1, 2), (1, 1, 1), (1, 1, 0), 1),
]
"""(size, kernel, stride, dilation, padding, groups)"""


def places(size, kernel, stride, dilation, padding):
    """How many windows there are along each axis."""
    rows = zip(size, kernel, stride, dilation, padding, strict=True)
    return tuple((n + 2 * p - (k - 1) * d - 1) // s + 1 for n, k, s, d, p in rows)


def products(geometry, rng, channels=3, outputs=9):
    """The graph of all three products and arrays for it."""
    size, kernel, stride, dilation, padding, groups = geometry
    around = tuple((p, p) for p in padding)
    arena, shape = Arena(), places(*geometry[:5])
    padded = tuple(n + 2 * p for n, p in zip(size, padding, strict=True))
    x = arena.input((2, channels * groups, *padded), float32)
    w = arena.input((outputs * groups, channels, *kernel), float32)
    g = arena.input((2, outputs * groups, *shape), float32)
    how = stride, dilation, groups
    y = convolved(x, w, how)
    graph = Graph(
        [x, w, g], [y, kernel_gradient(g, x, w, how), spread_back(g, w, size, around, how)]
    )
    arrays = [rng.standard_normal(v.shape).astype(np.float32) for v in graph.inputs]
    return graph, arrays


def by_definition(geometry, x, w, g):
    """The three products in float64, window by window."""
    size, kernel, stride, dilation, padding, groups = geometry
    x, w, g = (v.astype(np.float64) for v in (x, w, g))
    y, dw, dx = np.zeros(g.shape), np.zeros(w.shape), np.zeros(x.shape)
    outputs, inputs = w.shape[0] // groups, w.shape[1]
    for group in range(groups):
        o, i = (slice(group * n, (group + 1) * n) for n in (outputs, inputs))
        for place in product(*map(range, g.shape[2:])):
            rows = zip(place, kernel, stride, dilation, strict=True)
            at = tuple(slice(p * s, p * s + (k - 1) * d + 1, d) for p, k, s, d in rows)
            seen, here = x[(slice(None), i, *at)], g[(slice(None), o, *place)]
            y[(slice(None), o, *place)] = np.tensordot(seen, w[o], (range(1, x.ndim),) * 2)
            dw[o] += np.tensordot(here, seen, (0, 0))
            dx[(slice(None), i, *at)] += np.tensordot(here, w[o], (1, 0))
    inner = tuple(slice(p, p + n) for n, p in zip(size, padding, strict=True))
    return y, dw, dx[(slice(None), slice(None), *inner)]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_products_are_those_of_the_definition(geometry, rng):
    graph, arrays = products(geometry, rng)

    found = run(graph, arrays)

    for ours, wanted in zip(found, by_definition(geometry, *arrays), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_kernels_threads_and_the_definition_agree_to_the_bit(geometry, rng):
    graph, arrays = products(geometry, rng)

    expected = exact(graph, arrays)
    for count in (1, 3):
        with threads(count):
            for found, wanted in zip(run(graph, arrays), expected, strict=True):
                assert same_bits(found, wanted)
    for found, wanted in zip(run(graph, arrays, without="claim"), expected, strict=True):
        assert same_bits(found, wanted)


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
def test_a_kernel_per_channel_has_the_definitions_bits(geometry, rng):
    graph, arrays = products((*geometry[:5], 5), rng, channels=1, outputs=1)

    expected = exact(graph, arrays)

    with threads(3):
        found = run(graph, arrays)
    assert all(same_bits(ours, wanted) for ours, wanted in zip(found, expected, strict=True))
    rows = zip(found, by_definition((*geometry[:5], 5), *arrays), strict=True)
    assert all(np.allclose(ours, wanted, rtol=1e-4, atol=1e-4) for ours, wanted in rows)


def any_geometry(seed: int):
    """A geometry of one to three axes in which at least one window fits."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    limits = ((1, 5), (1, 4), (1, 4), (0, 3), (0, 6))
    drawn = (tuple(map(int, rng.integers(*limit, count))) for limit in limits)
    kernel, stride, dilation, padding, more = drawn
    rows = zip(kernel, dilation, padding, more, strict=True)
    size = tuple(max((k - 1) * d + 1 - 2 * p, 1) + m for k, d, p, m in rows)
    return size, kernel, stride, dilation, padding, int(rng.integers(1, 3))


@pytest.mark.parametrize("seed", range(16))
def test_any_geometry_has_the_definitions_bits(seed, rng):
    geometry = any_geometry(seed)
    graph, arrays = products(geometry, rng, outputs=int(rng.integers(1, 20)))

    found, expected = run(graph, arrays), exact(graph, arrays)

    assert all(same_bits(ours, wanted) for ours, wanted in zip(found, expected, strict=True))
    for ours, wanted in zip(found, by_definition(geometry, *arrays), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-4)


def test_windows_need_no_memory(rng):
    graph, _ = products(GEOMETRIES[0], rng)

    kernels = program(graph).kernels

    largest = max(x.size for k in kernels for x in k.buffers)
    assert largest < 2 * max(x.size for x in graph.inputs), "a window is nine times as large"


@pytest.mark.parametrize(
    ("size", "low", "kernel", "stride", "dilation"),
    [(9, 1, 3, 2, 1), (7, 2, 4, 3, 2), (5, 0, 2, 4, 2)],
)
def test_phases_are_every_element_and_what_it_met(size, low, kernel, stride, dilation):
    found = phases(size, low, kernel, stride, dilation)

    assert sum(p.elements for p in found) == size
    for start, phase in enumerate(found):
        first, taps, step = phase.taps
        for number in range(phase.elements):
            element = start + number * stride
            met = [(u, element + low - u * dilation) for u in range(kernel)]
            wanted = [(u, far // stride) for u, far in met if far % stride == 0]
            last = phase.low + number
            told = [(first + m * step, last + (taps - 1 - m) * phase.gap) for m in range(taps)]
            assert told == wanted
