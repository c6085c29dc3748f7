"""Compiled graphs against the interpreter, and their bits against themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from gnomon import executable
from gnomon.dtypes import bfloat16, float16, float32, int32, int64
from gnomon.errors import IndexOutOfBounds
from gnomon.executable import build
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops.interpret import interpret
from gnomon.ops.lookup_primitives import gather, scatter, sort_positions
from gnomon.ops.primitives import contract, reduce, reshape, unsqueeze
from gnomon.ops.scalars import exp, rsqrt, where
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import pad, permute, slice_, window
from gnomon.passes.grad import gradients
from gnomon.processor import machine
from gnomon.runtime.buffer import Buffer
from gnomon.runtime.threads import get_num_threads, set_num_threads
from gnomon.settings import override
from tests.compiled import PIPELINE
from tests.graphs import built


def run(
    roots: Sequence[Node], leaves: Sequence[Node], arrays: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The roots' values by compiled code."""
    buffers = [Buffer.of(np.ascontiguousarray(x)) for x in arrays]
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


def test_kernels_of_equal_structure_share_their_code():
    x, y = normal(5, 64), normal(5, 64)
    roots, leaves = outputs(lambda a, b: (softmax(a), softmax(b)), [x, y])

    (kernel,) = build(Graph(leaves, roots)).kernels

    assert len(kernel.members) == 2
    assert kernel.members[0].code is kernel.members[1].code


def test_memory_of_dead_values_is_used_again():
    def deep(x: Node) -> Node:
        for _ in range(6):
            x = permute(x, (1, 0)) * 2.0 + x
        return x

    roots, leaves = outputs(deep, [normal(64, 64)])

    memory = build(Graph(leaves, roots)).memory

    assert memory.total == memory.bound
    assert memory.total <= 3 * 64 * 64 * 4


def test_a_value_may_lie_where_an_operand_dies():
    def deep(x: Node) -> Node:
        for _ in range(6):
            x = scan("add", exp(scan("add", x, 1) * 0.01), 0)
        return x

    roots, leaves = outputs(deep, [normal(64, 64)])

    memory = build(Graph(leaves, roots)).memory

    assert memory.total == memory.bound == 2 * 64 * 64 * 4


def small_caches(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """Build everything anew, for a processor whose last cache is so small."""
    small = replace(machine(), last=last)
    monkeypatch.setattr(PIPELINE, "machine", lambda: small)
    monkeypatch.setattr(executable, "_built", {})


@pytest.mark.parametrize("shape", [(9, 64), (40, 208), (3, 5, 400), (7, 2048)])
def test_rows_larger_than_caches_are_written_past_them_or_over_what_they_read(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    x = normal(*shape)
    last = len(shape) - 1

    def shares(x: Node) -> tuple[Node]:
        total = unsqueeze(reduce("add", exp(x), (last,)), last)
        return (elementwise("div", exp(x), total),)

    roots, leaves = outputs(shares, [x])
    with override(cache=False):
        near = run(roots, leaves, [x])[0]
        small_caches(monkeypatch, 0)
        far = build(Graph(leaves, roots))
    given = Buffer.of(x)
    (fresh,), (over,) = far.run([given]), far.run([given], [(0, 0)])

    # two leaves of 200 are no whole vectors; memory that is read waits while results are written
    for word in ("nontemporal", "llvm.prefetch"):
        assert (word in far.kernels[0].code.text) == (shape[-1] != 400)
    assert far.may_overwrite(0, 0)
    assert fresh.numpy(near.dtype, shape).tobytes() == near.tobytes()
    assert over is given
    assert over.numpy(near.dtype, shape).tobytes() == near.tobytes()


@pytest.mark.parametrize("size", [16, 1003, 4096])
def test_results_far_larger_than_caches_are_written_past_them(size: int, monkeypatch):
    x = normal(size)
    roots, leaves = outputs(lambda x: (exp(x), x * 2.0), [x])
    with override(cache=False):
        near = run(roots, leaves, [x])
        small_caches(monkeypatch, 0)
        far = build(Graph(leaves, roots))
        made = far.run([Buffer.of(x)])

    assert "nontemporal" in far.kernels[0].code.text
    for a, b in zip(near, made, strict=True):
        assert a.tobytes() == b.numpy(a.dtype, a.shape).tobytes()


def test_results_that_the_program_reads_again_are_not_written_past_caches(monkeypatch):
    x = normal(50, 60)
    roots, leaves = outputs(lambda x: (exp(x), scan("add", exp(x), 0), scan("add", x, 1)), [x])
    small_caches(monkeypatch, x.nbytes)
    with override(cache=False):
        kernels = build(Graph(leaves, roots)).kernels

    assert not any("nontemporal" in k.code.text for k in kernels)


def test_a_result_that_is_an_input_is_that_buffer():
    (x,), leaves = outputs(lambda x: (x,), [normal(3)])
    buffer = Buffer.of(normal(3))

    assert build(Graph(leaves, [x])).run([buffer]) == [buffer]


def test_a_position_outside_its_axis_is_an_error_with_its_line():
    table, index = normal(9, 24), np.array([[0, 8], [3, 9]])
    roots, leaves = outputs(lambda x, i: gather("vd,bt->btd", x, i) * 2.0, [table, index])

    with pytest.raises(IndexOutOfBounds, match=r"position is outside.*test_compile\.py"):
        run(roots, leaves, [table, index])


def test_positions_that_a_guard_hides_are_not_checked():
    table, index = normal(9, 3), np.array([8, 1, 5])
    roots, leaves = outputs(
        lambda x, i: pad(gather("vd,b->bd", x, i), (20, 1), (3, 40)), [table, index]
    )

    (found,) = run(roots, leaves, [table, index])

    assert np.array_equal(found[20:23, 1:4], table[index])


def test_an_equal_graph_from_other_lines_runs_the_same_program_under_its_own_lines():
    def here(x: Node) -> Node:
        return softmax(x) * 3.0

    def there(x: Node) -> Node:
        return softmax(x) * 3.0

    made = [
        build(Graph(leaves, roots))
        for roots, leaves in (outputs(f, [normal(5, 31)]) for f in (here, there))
    ]

    assert made[0].program is made[1].program
    functions = [{site.function for kernel in m.kernels for site in kernel.sites} for m in made]
    assert "here" in functions[0]
    assert "there" not in functions[0]
    assert "there" in functions[1]
    assert "here" not in functions[1]
