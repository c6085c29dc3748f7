"""The interpreter runs a graph node by node, and checks what each node promised."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ops.interpret import interpret, interpret_graph
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.registry import OPS, op

pytestmark = pytest.mark.unit


def test_a_graph_is_run_on_arrays(rng):
    arena = Arena()
    x, w = arena.input((2, 3), float32), arena.input((3, 5), float32)
    graph = Graph([x, w], [contract("mk,kn->mn", x, w), reduce("max", x, (1,))])
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3), (3, 5)))

    product, largest = interpret_graph(graph, [a, b])

    np.testing.assert_allclose(product, a @ b, rtol=1e-6)
    assert np.array_equal(largest, a.max(1))


def test_regions_are_run_by_their_bodies():
    @op
    def both_halves(x):
        """Half of x, and the rest."""
        half = x * 0.5
        return half, x - half

    try:
        x = Arena().input((2,), float32)
        first, second = OPS["both_halves"](x)
        low, high = interpret([first, second], {x: np.array([3.0, 8.0], np.float32)})
    finally:
        del OPS["both_halves"]

    assert first.op == second.op == "region"
    assert low.tolist() == [1.5, 4.0]
    assert high.tolist() == [1.5, 4.0]
