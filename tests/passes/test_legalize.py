"""What kernels cannot compute becomes what they can, with the same bits by the oracle."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bfloat16, bool_, float16, float32, float64, int8, int32, int64, uint8
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.lookup_primitives import scatter
from gnomon.ops.primitives import contract
from gnomon.passes.legalize import is_legal, kernel_layout, legalize
from tests.oracle.graphs import exact
from tests.strategies import same_bits

pytestmark = pytest.mark.unit


def product(dtype, result=None, spec: str = "ab,cb->ac") -> Graph:
    """A contract of two inputs."""
    arena = Arena()
    a, b = arena.input((3, 40), dtype), arena.input((5, 40), dtype)
    return Graph([a, b], [contract(spec, a, b, result)])


def scattered(dtype, spec: str, shape: tuple[int, ...], index: tuple[int, ...]) -> Graph:
    """A scattered sum."""
    arena = Arena()
    x, at = arena.input(shape, dtype), arena.input(index, int64)
    return Graph([x, at], [scatter("add", spec, x, at, 4)])


ILLEGAL = {
    "bfloat16 product": product(bfloat16),
    "float16 product": product(float16),
    "product of bytes that stay bytes": product(int8),
    "integer product": product(int32),
    "product of truth values": product(bool_),
    "widened product": product(float32, float64),
    "another layout": scattered(float32, "dtb,bt->dv", (3, 7, 2), (2, 7)),
    "narrow sum": scattered(bfloat16, "bd,b->vd", (20, 3), (20,)),
}


def arrays_of(graph: Graph) -> list[np.ndarray]:
    """Numbers that every dtype can hold, and positions."""
    rng = np.random.default_rng(0)
    found = []
    for x in graph.inputs:
        numbers = rng.integers(0, 4, x.shape) if x.dtype is int64 else rng.normal(size=x.shape) * 2
        found.append(numbers.astype(x.dtype.numpy))
    return found


@pytest.mark.parametrize("name", ILLEGAL)
def test_the_result_is_legal_and_has_the_same_bits(name: str):
    graph = ILLEGAL[name]
    assert not all(map(is_legal, graph))

    legal = legalize(graph)

    assert all(map(is_legal, legal))
    arrays = arrays_of(graph)
    assert same_bits(exact(legal, arrays)[0], exact(graph, arrays)[0])


@pytest.mark.parametrize(("given", "result"), [(float32, None), (bfloat16, float32), (int8, int32)])
def test_a_legal_graph_is_left_alone(given, result):
    graph = product(given, result)

    assert legalize(graph) is graph


def test_bytes_are_summed_in_int32_unless_that_could_overflow():
    arena = Arena()
    few, many = (arena.input((2, n), uint8) for n in (40, 40_000))

    for x, legal in ((few, True), (many, False)):
        y = contract("ab,cb->ac", x, x, int64)
        assert any(n.op == "contract" for n in legalize(Graph([x], [y]))) == legal


def test_sites_are_kept():
    graph = product(bfloat16)
    node: Node = graph.outputs[0]

    assert legalize(graph).outputs[0].sites == node.sites


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("btd,bt->vd", "btd,bt->vd"),
        ("dtb,bt->dv", "tbd,tb->vd"),
        ("btd,bt->bvd", "btd,bt->bvd"),
    ],
)
def test_a_scatter_is_laid_out_batch_folded_free(spec: str, expected: str):
    assert kernel_layout(spec) == expected
