"""Sums without trees: one leaf each, nothing else changed, and only where numerics are "fast"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph
from gnomon.nn import functional as F
from gnomon.ops.canonical import OTHERS, ROWS
from gnomon.ops.canonical import leaves as leaves_for
from gnomon.ops.lookup_primitives import scatter
from gnomon.ops.primitives import contract, reduce
from gnomon.passes import loosen as loosening
from gnomon.passes.legalize import legalize
from gnomon.passes.loosen import LONGEST, in_chain, loosen
from gnomon.settings import override
from tests import accuracy
from tests.compiled import run

SIZE = 384
"""Terms of each sum: two leaves along the last axis, 16 along rows."""


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
    sums = [x for x in graph.nodes if "leaves" in x.params]
    names = (f"{x.op} {x.params.get('lanes')} {x.params.get('monoid')}" for x in sums)
    return dict(zip(names, (x.params["leaves"] for x in sums), strict=True))


def test_sums_have_one_leaf_where_that_errs_as_little(monkeypatch):
    graph, _ = sums()
    plain, loose = leaves(legalize(graph)), leaves(loosen(legalize(graph)))

    assert loose["reduce True add"] == 1 < plain["reduce True add"]
    assert {k: v for k, v in loose.items() if v != plain[k]} == {"reduce True add": 1}

    monkeypatch.setattr(loosening, "LONGEST", 1 << 20)

    left = leaves(loosen(legalize(graph))).values()
    assert {x if isinstance(x, int) else max(x) for x in left} == {1}


@pytest.mark.parametrize("lanes", [False, True])
def test_what_loses_its_leaves_gets_through_the_gate(lanes: bool):
    role, sizes = (OTHERS, (256, 384, 512)) if lanes else (ROWS, (2, 4, 6, 8))
    for size in sizes:
        assert in_chain(size, lanes) <= LONGEST
        assert accuracy.refused(size, leaves_for(size, role), lanes) == ""


def test_the_gate_refuses_long_chains():
    for size in (64, 256):
        assert "large-bias data" in accuracy.refused(size, leaves_for(size, ROWS), lanes=False)
    for size in (64, 256, 1024):
        product = accuracy.refused(size, leaves_for(size, ROWS), lanes=False, block=size)
        assert "large-bias data" in product
    assert "normal data" in accuracy.refused(4096, 16, lanes=True)


def test_an_error_is_weighed_in_the_mean_and_in_its_tail():
    exact = np.linspace(1, 2, 1000, endpoint=False).astype(np.float32)
    unit = np.spacing(exact)
    rare = np.where(np.arange(1000) % 50 == 0, 9 * unit, 0).astype(np.float32)

    assert accuracy.excess(exact + unit, exact, exact) == ""
    assert "mean" in accuracy.excess(exact + 4 * unit, exact, exact)
    assert "99th percentile" in accuracy.excess(exact + rare, exact, exact)
    assert "mean" in accuracy.excess(np.full_like(exact, np.nan), exact, exact)


def test_orders_that_are_tried_are_those_of_kernels():
    x = dict(accuracy.kinds(512, SIZE))["normal"]

    rows, columns = gn.from_numpy(x).sum(1).numpy(), gn.from_numpy(x.T.copy()).sum(0).numpy()

    assert (rows == accuracy.in_order(x, 2, lanes=True)).all()
    assert (columns == accuracy.in_order(x, 16, lanes=False)).all()


def slope(f: Callable[[gn.Tensor], gn.Tensor], x: gn.Tensor) -> gn.Tensor:
    """The gradient of a function's sum."""
    x = x.detach().requires_grad_()
    f(x).sum().backward()
    return x.grad


def attention(x: gn.Tensor) -> gn.Tensor:
    """Slopes of keys, which are summed over queries."""
    q = (x[:, :256] / 64).reshape(8, 2, 256, 32)
    return slope(lambda k: F.scaled_dot_product_attention(q, k, q, is_causal=True), q * 0.5)


FORMS: dict[str, Callable[[gn.Tensor], gn.Tensor]] = {
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.T.contiguous().sum(0),
    "both": lambda x: x.reshape(16, -1, 8).sum((0, 1)),
    "product": lambda x: x @ gn.ones(SIZE, 3).to(x.dtype),
    "weight's gradient": lambda x: x.T.contiguous().T[:, :SIZE].T @ x[:, :32],
    "scatter": lambda x: gn.zeros(3, 512).to(x.dtype).index_add(0, gn.arange(SIZE) % 3, x.T),
    "norm's weight": lambda x: slope(lambda w: F.rms_norm(x, (SIZE,), w), x[0]),
    "attention": attention,
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_that_fast_takes_gets_through(name: str):
    form = FORMS[name]
    for kind, terms in accuracy.kinds(512, SIZE):
        x = gn.from_numpy(terms)
        exact = form(x.to(gn.float64)).numpy()
        plain = form(x).numpy()
        with override(numerics="fast"):
            found = form(x).numpy()

        assert found.dtype == np.float32
        assert accuracy.excess(found, plain, exact) == "", kind


def test_a_report_says_which_sums_keep_their_leaves_and_why():
    x = gn.ones(1024, 8)
    with override(numerics="fast"):
        f = gn.compile(lambda: (x * 2.0).sum(0))
        f()

    assert "reduce keeps its leaves: 1024 roundings in a row err more" in f.explain_fusions()


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
