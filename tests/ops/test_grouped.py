"""Products of groups: what is claimed has the bits of its definition, as have its gradients."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import DType, bfloat16, float16, float32, float64, int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.grouped import grouped_mm
from tests.compiled import program, run
from tests.gradients import gradients
from tests.oracle.graphs import exact
from tests.strategies import same_bits

SHAPES = {
    "rows": ((47, 20), (4, 20, 19)),
    "columns": ((4, 19, 20), (20, 47)),
    "steps": ((20, 47), (47, 19)),
}
ENDS = np.array([[3, 9], [9, 20], [20, 20], [31, 40]])


def graph_of(name: str, dtype: DType, slopes: bool = False) -> Graph:
    """A product of groups, and maybe its gradients."""
    arena = Arena()
    a, b = (arena.input(shape, dtype) for shape in SHAPES[name])
    ends = arena.input(ENDS.shape, int64)
    y: Node = grouped_mm(a, b, ends)
    if not slopes:
        return Graph([a, b, ends], [y])
    g = arena.input(y.shape, y.dtype)
    return Graph([a, b, ends, g], [x for x in gradients(y, g, [a, b]) if x is not None])


def arrays_for(graph: Graph, rng: np.random.Generator) -> list[np.ndarray]:
    """Random numbers, and the ends."""
    return [
        ENDS if x.dtype is int64 else rng.normal(size=x.shape).astype(x.dtype.numpy)
        for x in graph.inputs
    ]


@pytest.mark.parametrize("slopes", [False, True], ids=["values", "slopes"])
@pytest.mark.parametrize("dtype", [float32, bfloat16, float16, float64], ids=lambda x: x.name)
@pytest.mark.parametrize("name", SHAPES)
def test_the_kernel_has_the_bits_of_the_definition(name, dtype, slopes, rng):
    graph = graph_of(name, dtype, slopes)
    arrays = arrays_for(graph, rng)

    assert any(kernel.name.startswith("grouped") for kernel in program(graph).kernels)
    for found, expected in zip(run(graph, arrays), exact(graph, arrays), strict=True):
        assert same_bits(found, expected)


def test_turned_operands_are_not_copied():
    names = [kernel.name for kernel in program(graph_of("rows", float32, True)).kernels]

    # the first looks at offs alone, that none is outside
    assert sorted(names) == ["grouped_mm_grad_gather", "grouped_rows", "grouped_steps"]


def test_others_in_a_group_change_nothing_when_runs_are_blocks(rng):
    # tokens 0..7 and 8..15 are two blocks; the second half of them goes elsewhere or comes along
    x, y = rng.normal(size=(6, 16)).astype("f4"), rng.normal(size=(16, 5)).astype("f4")

    def sums(ends: list[list[int]], tokens: slice) -> np.ndarray:
        arena = Arena()
        a, b = (arena.input(v.shape, float32) for v in (x[:, tokens], y[tokens]))
        at = arena.input((1, 2), int64)
        graph = Graph([a, b, at], [grouped_mm(a, b, at)])
        return run(graph, [x[:, tokens].copy(), y[tokens].copy(), np.array(ends)])[0]

    whole = sums([[8, 16]], slice(0, 16))
    halves = [sums([[8, 8]], slice(0, 8)), sums([[8, 8]], slice(8, 16))]

    assert same_bits(whole, halves[0] + halves[1])
