"""Compiled graphs against the interpreter, and their bits against themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from gnomon.compiler.build import build
from gnomon.dtypes import bfloat16, float16, float32, int32, int64
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops.interpret import interpret
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.primitives import contract, reduce, reshape, unsqueeze
from gnomon.ops.scalars import exp, rsqrt, where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_, window
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.threads import get_num_threads, set_num_threads
from gnomon.settings import override
from tests.gradients import gradients
from tests.graphs import built


def run(
    roots: Sequence[Node], leaves: Sequence[Node], arrays: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The roots' values by compiled code."""
    buffers = [DeviceBuffer.of(np.ascontiguousarray(x)) for x in arrays]
    results = build(Graph(leaves, roots)).run(buffers)
    return [b.numpy(r.dtype.numpy, r.shape).copy() for b, r in zip(results, roots, strict=True)]


def normal(*shape: int, dtype: type = np.float32) -> np.ndarray:
    """Random numbers that depend on the shape alone."""
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


def softmax(x: Node) -> Node:
    """exp(x) / sum(exp(x)) along the last axis."""
    axis = x.rank - 1
    e = exp(x - unsqueeze(reduce("max", x, (axis,)), axis))
    return e / unsqueeze(reduce("add", e, (axis,)), axis)


def rms_norm(x: Node, weight: Node) -> Node:
    """x / sqrt(mean(x^2)) * weight along the last axis."""
    axis = x.rank - 1
    square = unsqueeze(reduce("add", x * x, (axis,)), axis)
    return x * rsqrt(square * (1 / x.shape[-1]) + 1e-6) * weight


def iota(like: Node, size: int) -> Node:
    """0, 1, 2, ..."""
    return like.arena.node("iota", (), size=size, dtype=int64)


def causal(x: Node) -> Node:
    """Softmax over what is not later."""
    n = x.shape[-1]
    here, there = reshape(iota(x, n), (1, n, 1)), reshape(iota(x, n), (1, 1, n))
    return softmax(where(elementwise("le", there, here), x, -1e30))


def with_gradients(f: Callable[..., Node]) -> Callable[..., tuple[Node, ...]]:
    """f, and the gradients of the sum of its cubes."""

    def both(*xs: Node) -> tuple[Node, ...]:
        y = f(*xs)
        total = reduce("add", y * y * y, tuple(range(y.rank)))
        found = gradients(total, constant(y.arena, 1.0, y.dtype), xs)
        return y, *(g for g in found if g is not None)

    return both


def ids(x: Node, size: int) -> Node:
    """Positions from random numbers."""
    return cast(elementwise("minimum", elementwise("abs", x * 5.0), size - 1.0), int64)


CASES = {
    "add": (lambda x, y: x + y * 2.0, (5, 7), (5, 7)),
    "nothing": (lambda x: x + 1.0, (0, 3)),
    "fold of nothing": (lambda x: reduce("add", x, (0,)), (0, 3)),
    "bias": (lambda x, y: x + y, (5, 70), (70,)),
    "softmax": (with_gradients(softmax), (3, 5, 100)),
    "softmax of leaves": (with_gradients(softmax), (3, 512)),
    "rms_norm": (with_gradients(rms_norm), (4, 6, 384), (384,)),
    "causal": (with_gradients(causal), (3, 40, 40)),
    "permute": (lambda x: permute(x, (0, 2, 1)) + 1.0, (3, 20, 33)),
    "pad": (with_gradients(lambda x: pad(x, (1, 2), (3, 0), 5.0, (0, 1)) * 2.0), (5, 20)),
    "slice": (with_gradients(lambda x: slice_(x, ((4, 0, -2), (1, 19, 3))) * 2.0), (5, 20)),
    "window": (with_gradients(lambda x: reduce("max", window(x, 1, 3, 2), (2,))), (5, 21)),
    "columns": (lambda x: reduce("add", x, (0,)), (96, 48)),
    "rows and tokens": (lambda x: reduce("add", x, (0, 1)), (12, 256, 33)),
    "everything": (lambda x: reduce("add", x * x, (0, 1)), (16, 256)),
    "product": (lambda x: reduce("mul", x, (1,)), (4, 5)),
    "least": (lambda x: reduce("min", x, (0,)), (40, 5)),
    "one axis": (lambda x: reduce("add", x, (0,)), (37,)),
    "narrow": (
        lambda x: (
            cast(cast(x, bfloat16) * cast(x, bfloat16), float32) + cast(cast(x, float16), float32)
        ),
        (5, 70),
    ),
    "matmul": (with_gradients(lambda x, w: contract("bti,oi->bto", x, w)), (3, 7, 20), (11, 20)),
    "heads": (
        with_gradients(lambda q, k: contract("bthd,bshd->bhts", q, k)),
        (2, 9, 3, 8),
        (2, 9, 3, 8),
    ),
    "narrow matmul": (
        lambda x, w: cast(contract("ab,cb->ac", cast(x, bfloat16), cast(w, bfloat16)), float32),
        (5, 40),
        (6, 40),
    ),
    "integer matmul": (
        lambda x, w: contract("ab,cb->ac", cast(x * 10.0, int32), cast(w * 10.0, int32)),
        (5, 40),
        (6, 40),
    ),
    "gather": (
        with_gradients(lambda x, i: gather("vd,bt->btd", x, ids(i, 9)) * 2.0),
        (9, 24),
        (3, 70),
    ),
    "scatter in any layout": (
        lambda x, i: scatter("add", "dtb,bt->dv", x, ids(i, 9), 9),
        (33, 7, 4),
        (4, 7),
    ),
    "scatter of maxima": (
        lambda x, i: scatter("max", "btd,bt->vd", x, ids(i, 9), 9),
        (4, 7, 3),
        (4, 7),
    ),
    "cumsum": (with_gradients(lambda x: scan("add", x, 1)), (3, 50, 20)),
    "running best": (lambda x: scan("argmax", x, 2), (3, 5, 20)),
    "sort": (lambda x: sort_positions(x, 1, descending=True), (3, 50, 2)),
}


def outputs(f: Callable, arrays: Sequence[np.ndarray]) -> tuple[list[Node], list[Node]]:
    """f's nodes as a list, and its leaves."""
    roots, leaves = built(f, *arrays)
    return list(roots) if isinstance(roots, tuple) else [roots], leaves


@pytest.mark.parametrize("name", CASES)
def test_compiled_code_agrees_with_the_interpreter(name: str):
    f, *shapes = CASES[name]
    arrays = [normal(*shape) for shape in shapes]
    roots, leaves = outputs(f, arrays)
    wide = [x.astype(np.float64) for x in arrays]
    exact_roots, exact_leaves = outputs(f, wide)

    found = run(roots, leaves, arrays)

    expected = interpret(exact_roots, dict(zip(exact_leaves, wide, strict=True)))
    for a, b in zip(found, expected, strict=True):
        size = np.abs(b).max(initial=1e-3) if b.dtype.kind == "f" else 1
        bound = 5e-2 if "narrow" in name else 3e-5
        np.testing.assert_allclose(a.astype(np.float64) / size, b / size, atol=bound)


@pytest.mark.parametrize("name", CASES)
def test_bits_depend_neither_on_threads_nor_on_fusion(name: str):
    f, *shapes = CASES[name]
    arrays = [normal(*shape) for shape in shapes]
    roots, leaves = outputs(f, arrays)
    before, found = get_num_threads(), []

    try:
        for threads, without in ((1, ""), (2, ""), (3, ""), (2, "fuse")):
            set_num_threads(threads)
            with override(without=without):
                found.append(run(roots, leaves, arrays))
    finally:
        set_num_threads(before)

    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert a.tobytes() == b.tobytes()


def test_softmax_is_one_kernel():
    roots, leaves = outputs(softmax, [normal(5, 100)])

    assert len(build(Graph(leaves, roots)).kernels) == 1
