"""An axis in front of what depends on given nodes: shapes, and the bits of every sample alone."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bool_, float32, int64
from gnomon.errors import ArgumentError
from gnomon.ir.node import PRIMITIVES, Arena, Graph
from gnomon.ir.operators import constant, elementwise
from gnomon.ops.control_primitives import call
from gnomon.ops.interpret import interpret_graph as run
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.primitives import contract, expand, reduce, reshape
from gnomon.ops.registry import OPS
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_, window
from gnomon.passes.batch import RULES, with_axis
from tests.controls import closed, total

pytestmark = pytest.mark.unit

SAMPLES = 3


def loop(index):
    """A result of a loop over three slices."""

    def build(c, xs):
        body = closed([(4,), (4,)], lambda c, x: [c * x + 1.0, c - x])
        params = {"body": body, "carried": 1, "sliced": 1, "length": 3, "reverse": True}
        return call("scan_over", (c, xs), **params)[index]

    return build


def choice(x, y):
    """A choice by the sum of y."""
    then, other = (closed([(4,), (4,)], lambda x, y, k=k: [x * y - k]) for k in (1.0, 2.0))
    return call("cond", (elementwise("gt", total(y), 0.0), x, y), then=then, other=other)[0]


# kinds of inputs, and what is made of them
CASES = {
    "map": ([((2, 4), float32), ((1, 4), float32)], lambda x, y: x * y + 1),
    "map of a number": ([((2, 4), float32), ((), float32)], lambda x, y: x * y),
    "reduce": ([((2, 4), float32)], lambda x: reduce("add", x, (0,))),
    "contract": ([((2, 4), float32), ((4, 5), float32)], lambda x, y: contract("ab,bc->ca", x, y)),
    "permute": ([((2, 4, 3), float32)], lambda x: permute(x, (2, 0, 1))),
    "reshape": ([((2, 4), float32)], lambda x: reshape(x, (4, 2))),
    "expand": ([((1, 4), float32)], lambda x: expand(x, (3, 4))),
    "slice": ([((2, 4), float32)], lambda x: slice_(x, ((1, -1, -1), (0, 4, 2)))),
    "pad": ([((2, 4), float32)], lambda x: pad(x, (1, 0), (0, 2), 7.0, (0, 1))),
    "window": ([((2, 6), float32)], lambda x: window(x, 1, 3)),
    "gather": ([((4, 2), float32), ((3,), int64)], lambda x, i: gather("vd,b->bd", x, i)),
    "scatter": (
        [((3, 2), float32), ((3,), int64)],
        lambda x, i: scatter("add", "bd,b->vd", x, i, 4),
    ),
    "sort": ([((2, 4), float32)], lambda x: sort_positions(x, 1)),
    "scan": ([((2, 4), float32)], lambda x: scan("add", x, 0)),
    "detach": ([((2,), float32)], lambda x: x.arena.node("detach", (x,))),
    "barrier": ([((2,), float32)], lambda x: x.arena.node("barrier", (x,))),
    "scan_over": ([((4,), float32), ((3, 4), float32)], loop(0)),
    "rows of scan_over": ([((4,), float32), ((3, 4), float32)], loop(1)),
    "cond": ([((4,), float32), ((4,), float32)], choice),
    "region": ([((2, 4), float32), ((4,), float32)], lambda x, w: OPS["softmax"](x * w, -1)),
}


def graph_of(name):
    """A case as a graph."""
    kinds, build = CASES[name]
    arena = Arena()
    leaves = [arena.input(shape, dtype) for shape, dtype in kinds]
    return Graph(leaves, [build(*leaves)])


def values(rng, shape, dtype):
    """Numbers, or positions that every case has."""
    if dtype is int64:
        return rng.integers(0, 4, shape)
    return rng.standard_normal(shape).astype(np.float32)


WAYS = [(name, None) for name in CASES]
WAYS += [(name, k) for name, (kinds, _) in CASES.items() if len(kinds) == 2 for k in (0, 1)]


@pytest.mark.parametrize(("name", "shared"), WAYS)
def test_every_sample_has_what_it_would_have_alone(name, shared, rng):
    graph = graph_of(name)
    flags = tuple(k != shared for k in range(len(graph.inputs)))
    given = [
        values(rng, (SAMPLES, *x.shape) if has else x.shape, x.dtype)
        for x, has in zip(graph.inputs, flags, strict=True)
    ]

    (whole,) = run(with_axis(graph, flags, SAMPLES), given)

    for k in range(SAMPLES):
        one = [a[k] if has else a for a, has in zip(given, flags, strict=True)]
        (alone,) = run(graph, one)
        np.testing.assert_array_equal(whole[k], alone)


def test_every_primitive_has_a_rule_or_a_reason():
    ranks = ("gnomon.ops.collectives", "gnomon.ops.transfers", "gnomon.ops.layouts")
    together = {name for name, kind in PRIMITIVES.items() if type(kind).__module__ in ranks}
    kernels = {"range", "affine", "load", "fold", "checked"}
    leaves = {"input", "const", "iota"}
    # samples would stop at different times; microbatches are loops only once programs are divided
    missing = set(PRIMITIVES) - set(RULES) - together - kernels - leaves - {"while", "fold_over"}

    assert not {name for name in missing if type(PRIMITIVES[name]).__module__.startswith("gnomon")}


def test_what_takes_no_axis_says_so():
    arena = Arena()
    x = arena.input((2,), float32)
    inner = Arena()
    leaf = inner.input((2,), float32)
    same = Graph([leaf], [leaf])
    on = Graph([leaf], [constant(inner, False, bool_)])
    (y,) = call("while", (x,), test=on, body=same, carried=1)

    with pytest.raises(ArgumentError, match="while takes no axis of samples"):
        with_axis(Graph([x], [y]), (True,), SAMPLES)
