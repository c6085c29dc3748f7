"""Sums without trees: one leaf each, nothing else changed, and only where numerics are "fast"."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph
from gnomon.nn import functional as F
from gnomon.ops.lookup_primitives import scatter
from gnomon.ops.primitives import contract, reduce
from gnomon.passes import gate
from gnomon.passes.legalize import legalize
from gnomon.passes.loosen import kept, loosen
from gnomon.settings import override
from tests.compiled import run


def sums() -> tuple[Graph, list[np.ndarray]]:
    """A product, a sum along each axis, a maximum and a scatter, all over 512."""
    arena, draw = Arena(), np.random.default_rng(0)
    x, y = arena.input((24, 512), float32), arena.input((512, 70), float32)
    place = arena.input((512,), int64)
    results = [
        contract("ab,bc->ac", x, y),
        reduce("add", x, (1,)),
        reduce("add", y, (0,)),
        reduce("max", x, (1,)),
        scatter("add", "ab,a->cb", y, place, 3),
    ]
    arrays = [draw.normal(size=v.shape).astype(np.float32) for v in (x, y)]
    return Graph([x, y, place], results), [*arrays, draw.integers(0, 3, 512)]


def leaves(graph: Graph) -> dict[str, object]:
    """The leaves of the sums of a graph, by what they are."""
    found = [x for x in graph.nodes if "leaves" in x.params]
    return {
        f"{x.op} {x.params.get('lanes')} {x.params.get('monoid')}": x.params["leaves"]
        for x in found
    }


def test_sums_have_one_leaf_where_the_gate_allows(monkeypatch):
    graph, _ = sums()
    plain, loose = leaves(legalize(graph)), leaves(loosen(legalize(graph)))

    assert loose["reduce True add"] == 1 < plain["reduce True add"]
    assert {k: v for k, v in loose.items() if v != plain[k]} == {"reduce True add": 1}
    assert {line.split(",")[0] for line in kept(loosen(legalize(graph)))} == {
        *("  1 of contract", "  1 of reduce", "  1 of scatter"),
    }

    monkeypatch.setattr(gate, "refused", lambda *given, **named: "")

    left = leaves(loosen(legalize(graph))).values()
    assert {x if isinstance(x, int) else max(x) for x in left} == {1}


def test_nothing_is_remade_twice():
    graph, _ = sums()

    once = loosen(graph)

    assert loosen(once) is once


def test_results_differ_by_rounding_alone():
    graph, arrays = sums()

    expected = run(graph, arrays)
    with override(numerics="fast"):
        found = run(graph, arrays)

    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)
    assert any((a != b).any() for a, b in zip(expected, found, strict=True))


def test_fast_claimed_kernels_are_near_those_with_an_order():
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=(1, 4, 512, 8)).astype(np.float32) for _ in range(3)]

    def slopes() -> list[np.ndarray]:
        q, k, v = (gn.from_numpy(x).requires_grad_() for x in arrays)
        F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
        return [x.grad.numpy() for x in (q, k, v)]

    expected = slopes()
    with override(numerics="fast"):
        found = slopes()

    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
