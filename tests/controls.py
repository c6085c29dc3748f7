"""Graphs with choices and loops, and their gradients, for several test files. Not a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gnomon.dtypes import float32, int64
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.control_primitives import CONTROL, call, call_of, graphs_of
from gnomon.ops.linalg import matmul
from gnomon.ops.primitives import reduce
from gnomon.passes.grad import pull_back

ROWS, WIDTH = 2, 3


def closed(shapes: Sequence[tuple], f: Callable, dtypes: Sequence = ()) -> Graph:
    """A graph over inputs of these shapes, float32 unless said otherwise."""
    arena = Arena()
    dtypes = dtypes or [float32] * len(shapes)
    leaves = [arena.input(s, d) for s, d in zip(shapes, dtypes, strict=True)]
    return Graph(leaves, f(*leaves))


def total(x: Node) -> Node:
    """The sum of all elements."""
    for _ in x.shape:
        x = reduce("add", x, (0,))
    return x


def step(c: Node, x: Node, w: Node) -> list[Node]:
    """A recurrence with a product, a costly function and cheap ones."""
    new = elementwise("tanh", matmul(c, w) + x)
    return [new * 0.5 + c, new]


def with_gradients(leaves: Sequence[Node], results: Sequence[Node]) -> Graph:
    """Results, and gradients of the sum of their squares."""
    asked = [x for x in leaves if x.dtype.is_floating_point]
    parts = pull_back({x: x for x in results if x.dtype.is_floating_point}, asked)
    return Graph(leaves, [*results, *(p for p in parts if p is not None)])


def loop(iterations: int = 4, reverse: bool = False, width: int = WIDTH, rows: int = ROWS) -> Graph:
    """A loop over slices, and its gradients."""
    arena = Arena()
    shapes = [(rows, width), (iterations, rows, width), (width, width)]
    c, xs, w = (arena.input(s, float32) for s in shapes)
    body = closed([(rows, width), (rows, width), (width, width)], step)
    made = call(
        "scan_over", (c, xs, w), body=body, carried=1, sliced=1, length=iterations, reverse=reverse
    )
    return with_gradients([c, xs, w], made)


def choice() -> Graph:
    """A choice by the sum of x, and its gradients."""
    arena = Arena()
    shapes = [(ROWS, WIDTH), (ROWS, WIDTH), (WIDTH, WIDTH)]
    c, x, w = (arena.input(s, float32) for s in shapes)
    pred = elementwise("gt", total(x), 0.0)
    other = closed(shapes, lambda c, x, w: [elementwise("sin", matmul(c, w)), x])
    return with_gradients(
        [c, x, w], call("cond", (pred, c, x, w), then=closed(shapes, step), other=other)
    )


def halving() -> Graph:
    """Halved while the sum is above a bound; the iterations are counted."""
    arena = Arena()
    kinds = [(WIDTH,), (), ()], [float32, int64, float32]
    x, count, bound = (arena.input(s, d) for s, d in zip(*kinds, strict=True))
    test = closed(kinds[0], lambda x, n, bound: [elementwise("gt", total(x), bound)], kinds[1])
    body = closed(kinds[0], lambda x, n, bound: [x * 0.5, n + 1], kinds[1])
    return Graph(
        [x, count, bound], call("while", (x, count, bound), test=test, body=body, carried=2)
    )


def nested(iterations: int = 3) -> Graph:
    """A loop whose iterations choose between a loop and a step, and swap what they carry."""
    arena = Arena()
    shapes = [(ROWS, WIDTH), (ROWS, WIDTH), (iterations, ROWS, WIDTH), (WIDTH, WIDTH)]
    a, b, xs, w = (arena.input(s, float32) for s in shapes)
    inner = [(ROWS, WIDTH), (ROWS, WIDTH), (WIDTH, WIDTH)]

    def looped(c: Node, x: Node, w: Node) -> list[Node]:
        stacked = c.arena.node(
            "expand", (c.arena.node("reshape", (x,), shape=(1, ROWS, WIDTH)),), shape=(2, *x.shape)
        )
        return call(
            "scan_over",
            (c, stacked, w),
            body=closed(inner, lambda c, x, w: step(c, x, w)[:1]),
            carried=1,
            sliced=1,
            length=2,
            reverse=False,
        )

    def turn(a: Node, b: Node, x: Node, w: Node) -> list[Node]:
        pred = elementwise("gt", total(x), 0.0)
        then, other = closed(inner, looped), closed(inner, lambda c, x, w: step(c, x, w)[:1])
        (new,) = call("cond", (pred, a, x, w), then=then, other=other)
        return [b, new, new, x]

    body = closed([(ROWS, WIDTH)] * 3 + [(WIDTH, WIDTH)], turn)
    made = call(
        "scan_over", (a, b, xs, w), body=body, carried=2, sliced=1, length=iterations, reverse=True
    )
    return with_gradients([a, b, xs, w], made)


def folding() -> Graph:
    """A tree of two loops within each other: a sum, a maximum that nobody reads, a least, rows."""
    arena = Arena()
    xs, w = arena.input((2, 2, ROWS, WIDTH), float32), arena.input((WIDTH, WIDTH), float32)
    folds = ("add", "maximum", "minimum")

    def body(x: Node, w: Node) -> list[Node]:
        y = matmul(x, w)
        return [y, y * 2.0, total(x), y + x]

    def folded(graph: Graph, x: Node, w: Node) -> list[Node]:
        about = {"folds": folds, "carried": 0, "sliced": 1, "length": 2, "reverse": False}
        return call("fold_over", (x, w), body=graph, **about)

    inner = closed([(ROWS, WIDTH), w.shape], body)
    outer = closed([(2, ROWS, WIDTH), w.shape], lambda x, w: folded(inner, x, w))
    summed, _, least, rows = folded(outer, xs, w)
    return Graph([xs, w], [summed * 0.5, least, rows, summed])


def arrays(graph: Graph, sign: float = 1.0, seed: int = 3) -> list[np.ndarray]:
    """Values of all inputs; integers are 0, numbers of rank 0 are 1."""
    rng = np.random.default_rng(seed)
    return [
        (sign * rng.standard_normal(x.shape)).astype(x.dtype.numpy)
        if x.dtype is float32 and x.rank
        else np.ones(x.shape, x.dtype.numpy) * (x.dtype is float32)
        for x in graph.inputs
    ]


def calls_in(graph: Graph) -> list[Node]:
    """One result of every call."""
    return list({call_of(x): x for x in graph.nodes if x.op in CONTROL}.values())


def products(graph: Graph) -> int:
    """How many products a graph has, inside its calls too."""
    inner = [g for x in calls_in(graph) for g in graphs_of(x.params).values()]
    return sum(x.op == "contract" for x in graph.nodes) + sum(map(products, inner))
