"""Products of routed rows: what is claimed has the bits of its definition."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import DType, bfloat16, float16, float32, float64, int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Arena, Graph
from gnomon.ops.placements import REPLICATED, Partial, Split
from gnomon.ops.routed import reordered, routed_mm, routed_rows, routed_steps
from gnomon.passes.choose import options
from gnomon.passes.layout import MeshAxis
from tests.compiled import program, run
from tests.gradients import gradients
from tests.oracle.graphs import exact
from tests.strategies import same_bits

ENDS = np.array([[3, 9, 9], [0, 5, 12], [12, 12, 12], [0, 0, 1]])

CLAIMED = ("routed_rows", "routed_steps")

ROWS_APART = (Split(1), Split(0), Split(0))
"""Each rank has some blocks of both operands, and their ends."""


def graph_of(dtype: DType, slopes: bool = False) -> Graph:
    """A product of routed rows, and maybe its gradients."""
    arena = Arena()
    x, mats = arena.input((48, 20), dtype), arena.input((3, 20, 19), dtype)
    ends = arena.input(ENDS.shape, int64)
    y = routed_mm(x, mats, ends)
    if not slopes:
        return Graph([x, mats, ends], [y])
    g = arena.input(y.shape, y.dtype)
    return Graph([x, mats, ends, g], [x for x in gradients(y, g, [x, mats]) if x is not None])


def arrays_for(graph: Graph, rng: np.random.Generator) -> list[np.ndarray]:
    """Random numbers, and the ends."""
    return [
        ENDS if x.dtype is int64 else rng.normal(size=x.shape).astype(x.dtype.numpy)
        for x in graph.inputs
    ]


@pytest.mark.parametrize("slopes", [False, True], ids=["values", "slopes"])
@pytest.mark.parametrize("dtype", [float32, bfloat16, float16, float64], ids=lambda x: x.name)
def test_the_kernel_has_the_bits_of_the_definition(dtype, slopes, rng):
    graph = graph_of(dtype, slopes)
    arrays = arrays_for(graph, rng)

    assert any(kernel.name.startswith("routed") for kernel in program(graph).kernels)
    for found, expected in zip(run(graph, arrays), exact(graph, arrays), strict=True):
        assert same_bits(found, expected)


def of_shares(shares: int, rng: np.random.Generator) -> tuple[Graph, list[np.ndarray]]:
    """Products of rows with groups that are apart, with gradients, and their operands."""
    arena = Arena()
    x, mats = arena.input((shares, 48, 20), float32), arena.input((3 * shares, 20, 19), float32)
    ends = arena.input((shares, *ENDS.shape), int64)
    y = routed_mm(x, mats, ends)
    g = arena.input(y.shape, y.dtype)
    made = [x for x in gradients(y, g, [x, mats]) if x is not None]
    arrays = [rng.normal(size=v.shape).astype("f4") for v in (x, mats, g)]
    each = np.stack([ENDS[::step] for step in (1, -1)[:shares]])
    return Graph([x, mats, g, ends], [y, *made]), [*arrays, each]


def test_groups_that_are_apart_have_the_bits_of_each_share(rng):
    graph, arrays = of_shares(2, rng)
    one, _ = of_shares(1, rng)
    x, mats, g, ends = arrays

    found = run(graph, [v.copy() for v in arrays])

    for each in (graph, one):
        names = [kernel.name for kernel in program(each).kernels]
        assert {name: names.count(name) for name in CLAIMED} == {CLAIMED[0]: 2, CLAIMED[1]: 1}
    for share in range(2):
        own = slice(3 * share, 3 * share + 3)
        parts = [x[share][None], mats[own], g[share][None], ends[share][None]]
        y, of_x, of_mats = run(one, [v.copy() for v in parts])
        assert same_bits(found[0][share], y[0])
        assert same_bits(found[1][share], of_x[0])
        assert same_bits(found[2][own], of_mats)


@pytest.mark.parametrize("wanted", [(Split(0), Split(0), Split(0)), (Split(1), None, Split(1))])
def test_shares_and_their_blocks_may_both_lie_over_ranks(wanted):
    arena = Arena()
    operands = (arena.input((2, 48, 20), float32), arena.input((6, 20, 19), float32))
    node = routed_rows(*operands, arena.input((2, *ENDS.shape), int64))

    ways = [s for s in options(node, MeshAxis("data", 2)) if s.wanted[0] == wanted[0]]

    assert [s.given for s in ways] == [wanted[0]]
    assert [w if w != REPLICATED else None for w in ways[0].wanted] == [*wanted]


def sums(x: np.ndarray, y: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """The sums over groups of steps."""
    arena = Arena()
    a, b, at = (
        arena.input(x.shape, float32),
        arena.input(y.shape, float32),
        arena.input(ends.shape, int64),
    )
    return run(Graph([a, b, at], [routed_steps(a, b, at)]), [x.copy(), y.copy(), ends.copy()])[0]


def test_blocks_may_be_summed_anywhere(rng):
    x, y = rng.normal(size=(6, 48)).astype("f4"), rng.normal(size=(48, 5)).astype("f4")

    whole = sums(x, y, ENDS)
    first, second = sums(x[:, :24], y[:24], ENDS[:2]), sums(x[:, 24:], y[24:], ENDS[2:])

    assert same_bits(whole, first + second)


def test_a_rank_with_some_blocks_leaves_their_sum_pending():
    arena = Arena()
    x, y = arena.input((6, 48), float32), arena.input((48, 5), float32)
    node = routed_steps(x, y, arena.input(ENDS.shape, int64))

    given = [s.given for s in options(node, MeshAxis("data", 2)) if s.wanted == ROWS_APART]

    assert given
    assert all(isinstance(placement, Partial) for placement in given)


def test_a_sum_of_nothing_or_of_negative_zeros_is_zero():
    x, y = np.full((1, 48), -0.0, "f4"), np.ones((48, 1), "f4")
    y[1::3], x[0, 24:] = -0.0, 0.0

    assert sums(x, y, ENDS).tobytes() == bytes(12)
    assert sums(-x, y, np.zeros_like(ENDS)).tobytes() == bytes(12)


def test_rows_go_and_come_back_and_no_sum_is_taken(rng):
    order = np.stack([rng.permutation(7) for _ in range(2)])
    arena = Arena()
    x, g = (arena.input((2, 7, 3), float32) for _ in range(2))
    there, back = (arena.input((2, 7), int64) for _ in range(2))
    y = reordered(x, there, back)
    (slope,) = gradients(y, g, [x])
    graph = Graph([x, g, there, back], [y, slope])
    arrays = [*rng.normal(size=(2, 2, 7, 3)).astype("f4"), order, order.argsort(1)]

    moved, returned = run(graph, arrays)

    assert same_bits(moved, np.take_along_axis(arrays[0], order[..., None], 1))
    assert same_bits(returned, np.take_along_axis(arrays[1], order.argsort(1)[..., None], 1))
    assert not any(node.op in ("scatter", "reduce") for node in graph)


def test_rows_go_to_more_places_than_there_are_and_come_back(rng):
    arena = Arena()
    x, g = arena.input((2, 3, 4), float32), arena.input((2, 5, 4), float32)
    there, back = arena.input((2, 5), int64), arena.input((2, 3), int64)
    y = reordered(x, there, back)
    (slope,) = gradients(y, g, [x])
    order, inverse = np.array([[1, 0, 0, 2, 1]] * 2), np.array([[2, 0, 3]] * 2)
    arrays = [rng.normal(size=s).astype("f4") for s in ((2, 3, 4), (2, 5, 4))]

    moved, returned = run(Graph([x, g, there, back], [y, slope]), [*arrays, order, inverse])

    assert same_bits(moved, arrays[0][:, order[0]])
    assert same_bits(returned, arrays[1][:, inverse[0]])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((8, 4), (3, 4, 5), (2, 2)), r"3 matrices, but ends \(2, 2\)"),
        (((8, 4), (3, 5, 5), (2, 3)), r"needs \(t, k\), \(g, k, n\) and \(l, g\), or"),
        (((2, 8, 4), (6, 4, 5), (1, 2, 3)), r"or \(p, t, k\), \(p\*g, k, n\) and \(p, l, g\): got"),
        (((2, 8, 4), (5, 4, 5), (2, 2, 3)), r"5 matrices, but ends \(2, 2, 3\)"),
        (((9, 4), (3, 4, 5), (2, 3)), r"divides the 9 of x: got \(2, 3\)"),
    ],
)
def test_what_does_not_fit_is_refused(shapes, message):
    arena = Arena()
    x, mats = (arena.input(shape, float32) for shape in shapes[:2])

    with pytest.raises(ShapeError, match=message):
        routed_mm(x, mats, arena.input(shapes[2], int64))
