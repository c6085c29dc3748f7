"""Compiled code and the bit oracle agree to the bit, on random graphs, whatever the executor.

Tolerances are of the interpreter alone: how far float32 may stay from float64.
"""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import (
    bfloat16,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from gnomon.errors import IndexOutOfBounds
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import constant
from gnomon.ops.interpret import interpret_graph
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import reduce
from gnomon.runtime import device
from gnomon.settings import override
from tests import drawn as st
from tests.compiled import execute, program, run, threads
from tests.drawn import examples, given
from tests.gradients import gradients
from tests.oracle.graphs import exact
from tests.strategies import ANY, SMOOTH, arrays_for, described, graphs, in_double, same_bits

MIXED = (float32, float32, float32, float64, bfloat16, int64)
EVERY = (
    *(float32, float64, float16, bfloat16, int8, int16, int32, int64),
    *(uint8, uint16, uint32, uint64),
)
seeds = st.integers(0, 2**32 - 1)
large = examples(40)


def has_avx512() -> bool:
    """Whether this machine can run both widths of x86 code."""
    return device.target().name.endswith("avx512")


def agree(graph: Graph, arrays: list[np.ndarray], **changes: object) -> None:
    """Compiled code gives the oracle's bits."""
    expected = exact(graph, arrays)
    try:
        for k, found in enumerate(run(graph, arrays, **changes)):
            assert same_bits(found, expected[k]), f"result {k} differs"
    except Exception as failure:
        failure.add_note(described(graph))
        raise


@large
@given(graph=graphs(ANY, MIXED), seed=seeds)
def test_compiled_code_gives_the_bits_of_the_oracle(graph: Graph, seed: int):
    agree(graph, arrays_for(graph, seed))


@pytest.mark.long
@examples(1500)
@given(graph=graphs(ANY, EVERY, most=10), seed=seeds)
def test_so_it_does_on_many_graphs_of_every_dtype(graph: Graph, seed: int):
    agree(graph, arrays_for(graph, seed, special=0.05))


@large
@given(graph=graphs(ANY, MIXED, most=4), seed=seeds)
def test_so_it_does_on_zeros_denormals_infinities_and_nan(graph: Graph, seed: int):
    agree(graph, arrays_for(graph, seed, special=0.3))


@large
@given(graph=graphs(ANY, MIXED), seed=seeds)
def test_so_it_does_when_nothing_is_fused(graph: Graph, seed: int):
    agree(graph, arrays_for(graph, seed), without="fuse")


@large
@given(graph=graphs(ANY, MIXED), seed=seeds)
def test_bits_do_not_depend_on_the_number_of_threads(graph: Graph, seed: int):
    arrays, executable, found = arrays_for(graph, seed), program(graph), []

    for count in (1, 2, 3):
        with threads(count):
            found.append(execute(executable, graph, arrays))

    for other in found[1:]:
        assert all(map(same_bits, found[0], other))


@pytest.mark.skipif(
    not has_avx512(), reason="compares by running both: needs a processor with AVX-512"
)
@large
@given(graph=graphs(ANY, MIXED), seed=seeds)
def test_avx2_and_avx512_give_the_same_bits(graph: Graph, seed: int):
    arrays = arrays_for(graph, seed)

    narrow, full = (run(graph, arrays, cpu_features=name) for name in ("avx2", "avx512"))

    assert all(map(same_bits, narrow, full))


def errors(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """The largest error of any element, in parts of its tensor's largest."""
    parts = [np.abs(a - b).max(initial=0) for a, b in zip(found, expected, strict=True)]
    sizes = [np.abs(b).max(initial=1e-2) for b in expected]
    return max((e / s for e, s in zip(parts, sizes, strict=True)), default=0.0)


def check_against_double(graph: Graph, arrays: list[np.ndarray]) -> None:
    """Compiled float32 stays as near to float64 as numpy's float32 does, give or take a few ulp."""
    reference = interpret_graph(in_double(graph), [x.astype(np.float64) for x in arrays])
    plain = interpret_graph(graph, arrays)

    found = run(graph, arrays)

    assert errors(found, reference) <= 8 * errors(plain, reference) + 2e-6


@large
@given(graph=graphs(SMOOTH), seed=seeds)
def test_float32_stays_near_float64(graph: Graph, seed: int):
    check_against_double(graph, arrays_for(graph, seed))


def with_gradients(graph: Graph) -> Graph:
    """The gradients of the sum of squares of the first result."""
    y = graph.outputs[0]
    total = reduce("add", y * y, tuple(range(y.rank)))
    found = gradients(total, constant(y.arena, 1.0, y.dtype), graph.inputs)
    return Graph(graph.inputs, [total, *(g for g in found if g is not None)])


@large
@given(graph=graphs(SMOOTH, most=5), seed=seeds)
def test_gradients_stay_near_float64(graph: Graph, seed: int):
    check_against_double(with_gradients(graph), arrays_for(graph, seed))


@large
@given(graph=graphs(SMOOTH, most=5), seed=seeds)
def test_gradients_have_the_bits_of_the_oracle(graph: Graph, seed: int):
    agree(with_gradients(graph), arrays_for(graph, seed))


def test_regions_are_opened_by_the_oracle_too():
    arena = Arena()
    x = arena.input((3, 5), float32)
    body = Arena()
    inside = body.input((3, 5), float32)
    doubled = Graph([inside], [inside * 2.0])
    y = arena.node("region", (x,), name="double", body=doubled, index=0, call=None)

    (found,) = exact(Graph([x], [y]), [np.ones((3, 5), np.float32)])

    assert np.array_equal(found, np.full((3, 5), 2, np.float32))


@pytest.mark.parametrize("position", [-1, 4])
def test_a_position_outside_its_axis_is_refused_by_both(position: int):
    arena = Arena()
    x, index = arena.input((4,), float32), arena.input((1,), int64)
    graph = Graph([x, index], [gather("a,z->z", x, index)])
    arrays = [np.arange(4, dtype=np.float32), np.array([position])]

    for way in (exact, run):
        with pytest.raises(IndexOutOfBounds, match="gather"):
            way(graph, arrays)


def test_settings_of_a_test_do_not_outlive_it():
    with override(without="fuse"), threads(2):
        pass

    assert program(Graph([], [Arena().node("iota", (), size=3, dtype=int64)])).kernels
