"""Small graphs that, together, use everything that generated code can do wrong, and their judge.

Not a test. `bits` compares compiled code with the bit oracle; it must notice every planted fault
(tests/test_mutations.py), so a graph is added here when a new kind of fault can be thought of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from gnomon.dtypes import bfloat16, float32, int64
from gnomon.ir import memo
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.joining import concat
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.primitives import contract, expand, flip, reduce, reshape, unsqueeze
from gnomon.ops.scalars import exp, where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_, window
from tests.compiled import run
from tests.oracle.graphs import exact
from tests.strategies import arrays_for, described, positions, same_bits


def softmax(x: Node) -> Node:
    """Along the last axis: three passes over a row, in lanes."""
    k = x.rank - 1
    e = exp(x - unsqueeze(reduce("max", x, (k,)), k))
    return e / unsqueeze(reduce("add", e, (k,)), k)


def causal(x: Node) -> Node:
    """What is not later, by index arithmetic and a choice."""
    n = x.shape[-1]
    steps = x.arena.node("iota", (), size=n, dtype=int64)
    seen = elementwise("le", reshape(steps, (1, n)), reshape(steps, (n, 1)))
    return where(seen, x, 0.0)


def truths(x: Node, y: Node) -> Node:
    """Truth values, folded both ways."""
    below = elementwise("lt", x, y)
    every, some = (reduce(name, below, (1,)) for name in ("and", "or"))
    return cast(every, float32) + cast(some, float32) * 2.0


def reused(x: Node) -> Node:
    """Values that die, so that others take their place, and transposes that need all threads."""
    for _ in range(4):
        x = permute(exp(x * 0.1), (1, 0)) + scan("add", x, 0)
    return x


def handed_on(x: Node) -> list[Node]:
    """Values that may lie over another: one while it is read later, two over one."""
    y, z = scan("add", x, 0), scan("add", x, 1)
    early, (one, other) = exp(y * 0.01), (z * 0.5, z - 1.0)
    late = scan("max", early, 0) + scan("max", y, 1)
    return [late, scan("min", one, 0), scan("min", other, 1)]


def heads(x: Node, y: Node) -> Node:
    """Heads side by side, one tensor's after the other's."""
    return concat([reshape(permute(z, (1, 0, 2)) * 2.0, (5, 48)) for z in (x, y)], 1)


def folded(monoid: str, axis: int) -> Callable[[Node], Node]:
    """One fold."""
    return lambda x: reduce(monoid, x, (axis,))


WITNESSES: dict[str, tuple] = {
    "sum in lanes": (folded("add", 1), (3, 256)),
    "sum of a ragged row": (folded("add", 1), (3, 70)),
    "sum in chains": (folded("add", 0), (40, 33)),
    "product in lanes": (folded("mul", 1), (3, 70)),
    "max": (folded("max", 1), (3, 70)),
    "min": (folded("min", 0), (40, 5)),
    "sum of blocks in lanes": (folded("add", 1), (2, 20_000)),
    "sum of blocks in chains": (folded("add", 0), (333, 5)),
    "product of blocks": (lambda x: reduce("mul", x * 0.1 + 1.0, (0,)), (333, 5)),
    "narrow sum of blocks": (
        lambda x: reduce("add", cast(x, bfloat16), (0,), float32),
        (333, 3),
    ),
    "several axes": (lambda x: reduce("add", x, (0, 1)), (12, 256, 20)),
    "sum of negative zeros": (lambda x: reduce("add", x * x * -0.0, (1,)), (3, 20)),
    "narrow sum": (
        lambda x: reduce("add", cast(x, bfloat16), (1,), float32),
        (5, 130),
    ),
    "out of place": (lambda x: exp(x) * flip(exp(x), 1), (7, 20)),
    "softmax": (softmax, (3, 7, 130)),
    "narrow softmax": (lambda x: softmax(cast(x, bfloat16)), (3, 70)),
    "truth values": (truths, (5, 20), (5, 20)),
    "causal": (causal, (7, 7)),
    "permute": (lambda x: permute(x, (2, 0, 1)) * 2.0, (3, 5, 7)),
    "reshape": (lambda x: reshape(permute(x, (1, 0)), (5, 3)) + 1.0, (3, 5)),
    "expand": (lambda x: expand(unsqueeze(x, 1), (3, 4, 5)) * 2.0, (3, 5)),
    "slice": (lambda x: slice_(x, ((1, 3, 1), (6, -1, -2))) * 2.0, (3, 7)),
    "flip": (lambda x: flip(x, 0) * 2.0, (7,)),
    "pad": (lambda x: pad(x, (1, 0), (0, 2), 3.0, (0, 1)) * 2.0, (3, 5)),
    "window": (lambda x: reduce("max", window(x, 1, 3, 2, 3), (2,)), (3, 20)),
    "gather": (lambda x: gather("vd,t->td", x, positions(x, 9, 5)) * 2.0, (5, 7)),
    "gather below a view": (
        lambda x: gather("ab,z->zb", reshape(x, (2, 10)), positions(x, 5, 2)),
        (20,),
    ),
    "scatter": (lambda x: scatter("add", "td,t->vd", x, positions(x, 40, 3), 5), (40, 7)),
    "narrow scatter": (
        lambda x: scatter("add", "td,t->vd", cast(x, bfloat16), positions(x, 40, 3), 5),
        (40, 7),
    ),
    "scatter of two letters": (
        lambda x: scatter("add", "btd,t->vd", x, positions(x, 256, 3), 3),
        (4, 256, 3),
    ),
    "scatter of blocks": (
        lambda x: scatter("add", "td,t->vd", x, positions(x, 999, 3), 3),
        (999, 7),
    ),
    "scatter of blocks in two letters": (
        lambda x: scatter("add", "btd,t->vd", x, positions(x, 259, 2), 2),
        (65, 259, 2),
    ),
    "scatter of best": (lambda x: scatter("max", "td,t->vd", x, positions(x, 40, 3), 5), (40, 7)),
    "scatter of least": (lambda x: scatter("min", "td,t->vd", x, positions(x, 40, 3), 5), (40, 7)),
    "scatter of products": (
        lambda x: scatter("mul", "td,t->vd", x, positions(x, 40, 3), 5),
        (40, 7),
    ),
    "cumsum": (lambda x: scan("add", x, 1), (3, 33, 5)),
    "cumsum of blocks": (lambda x: scan("add", x, 0), (333, 5)),
    "cumprod": (lambda x: scan("mul", x, 0), (7, 3)),
    "running best": (lambda x: scan("max", x, 0), (33, 5)),
    "running least": (lambda x: scan("min", x, 0), (33, 5)),
    "running place": (lambda x: scan("argmax", x, 0), (33, 5)),
    "running truth": (
        lambda x: (
            cast(scan("or", elementwise("gt", x, 1.0), 0), float32)
            + cast(scan("and", elementwise("lt", x, 1.0), 0), float32)
        ),
        (33, 5),
    ),
    "join": (lambda x, y: concat([x * 2.0, exp(y)], 1), (3, 20), (3, 24)),
    "join of heads": (heads, (3, 5, 16), (3, 5, 16)),
    "join of rows": (lambda x, y: concat([x * 2.0, exp(y)], 0), (20, 3), (24, 3)),
    "nearly all": (lambda x: pad(x, (0, 1), (0, 16), 0.0) * 2.0, (3, 31)),
    "sort": (lambda x: sort_positions(x, 0, True), (33, 3)),
    "contract": (lambda x, w: contract("bi,oi->bo", x, w), (5, 512), (7, 512)),
    "contract of two letters": (
        lambda x, w: contract("bti,bto->io", x, w),
        (4, 256, 5),
        (4, 256, 7),
    ),
    "contract turned": (lambda x, w: contract("ib,io->ob", x, w), (20, 33), (20, 7)),
    "reused memory": (reused, (33, 33)),
    "handed on": (handed_on, (33, 33)),
}


@cache
def witness(name: str) -> tuple[Graph, list[np.ndarray], list[np.ndarray]]:
    """A graph, its inputs, and the bits that it must give."""
    f, *shapes = WITNESSES[name]
    arena = Arena()
    leaves = [arena.input(shape, float32) for shape in shapes]
    made = f(*leaves)
    graph = Graph(leaves, made if isinstance(made, list) else [made])
    arrays = uneven(graph)
    return graph, arrays, exact(graph, arrays)


def uneven(graph: Graph) -> list[np.ndarray]:
    """Numbers of many sizes, so that every order of additions has a sum of its own."""
    rng = np.random.default_rng(0)
    sizes = [2.0 ** rng.integers(-6, 7, x.shape) for x in graph.inputs]
    arrays = zip(arrays_for(graph, 0), sizes, strict=True)
    return [(x * size).astype(x.dtype) for x, size in arrays]


@contextmanager
def forgotten() -> Iterator[None]:
    """What the compiler remembers of earlier programs, or learns inside, is not used again."""
    memo.clear()
    try:
        yield
    finally:
        memo.clear()


def bits(*names: str) -> None:
    """Compiled code gives the oracle's bits on these witnesses, or on all."""
    with forgotten():
        for name in names or WITNESSES:
            graph, arrays, expected = witness(name)
            for found, right in zip(run(graph, arrays), expected, strict=True):
                assert same_bits(found, right), f"{name}:\n{described(graph)}"
