"""Every scalar function at infinities, NaN, zeros and subnormals: what kernels and definition give.

Its slope too. NaN is NaN, an infinity the same infinity, zero a zero of the same sign, and the
rest is close.
"""

from __future__ import annotations

from itertools import product

import ml_dtypes
import numpy as np
import pytest

import gnomon as gn
from gnomon.compiler.build import build
from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.ops.interpret import interpret
from gnomon.ops.scalars import SCALARS
from gnomon.runtime.buffer import DeviceBuffer
from tests.gradients import gradients

DTYPES = {
    "float32": (np.dtype(np.float32), 1e-5),
    "float64": (np.dtype(np.float64), 1e-12),
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), 0.02),
    "float16": (np.dtype(np.float16), 0.004),
}
INTEGERS = {"and", "or", "xor", "not", "shift_left", "shift_right", "mul_high"}
OTHERS = {"where", "cast", "bitcast"}
NAMES = [name for name in SCALARS if name not in INTEGERS | OTHERS and "threefry" not in name]


def points(dtype: np.dtype) -> np.ndarray:
    """Numbers at which formulas break."""
    facts = ml_dtypes.finfo(dtype)
    least, tiny = float(facts.smallest_subnormal), float(facts.tiny)
    sizes = [0.0, least, tiny / 2, tiny, 0.5, 1.0, 2.0, 3.5, 20.0, 100.0, float(facts.max), np.inf]
    return np.array([np.nan, *sizes, *(-x for x in sizes)]).astype(dtype)


def grid(dtype: np.dtype, arity: int) -> list[np.ndarray]:
    """All tuples of them, or of some."""
    axis = points(dtype)
    some = axis if arity < 3 else axis[::3]
    columns = np.array(list(product(some, repeat=arity))).T
    return [np.ascontiguousarray(x.astype(dtype)) for x in columns]


Asked = tuple[list[Node], list[Node], list[np.ndarray]]
"""Results, the leaves behind them, and their values."""


def roots_of(name: str, dtype: np.dtype, slopes: bool) -> Asked:
    """The function's value, or its gradients, and what they are computed of."""
    arena, given = Arena(), grid(dtype, SCALARS[name].arity)
    leaves = [arena.input(x.shape, dtype_of(x.dtype)) for x in given]
    result = elementwise(name, *leaves)
    if not slopes:
        return [result], leaves, given
    seed = arena.input(result.shape, result.dtype)
    found = [x for x in gradients(result, seed, leaves) if x is not None]
    return found, [*leaves, seed], [*given, np.ones(result.shape, dtype)]


def kinds(x: np.ndarray) -> np.ndarray:
    """What each element is: NaN, an infinity, a zero of either sign, or a number."""
    x = x.astype(np.float64)
    signs = np.where(np.signbit(x), -1, 1)
    return np.select([np.isnan(x), np.isinf(x), x == 0], [9, 2 * signs, 3 * signs], 0)


def alike(found: np.ndarray, right: np.ndarray, dtype: np.dtype, close: float) -> np.ndarray:
    """Where two results agree; at either end of a dtype's range a rounding decides what it is."""
    facts = ml_dtypes.finfo(dtype)
    least, tiny, most = map(float, (facts.smallest_subnormal, facts.tiny, facts.max))
    with np.errstate(all="ignore"):
        a, b = found.astype(float), right.astype(float)
        near = np.abs(a - b) <= close * np.abs(b) + 64 * least
        end = (np.abs(b) < tiny) & near | (np.abs(b) > 0.9 * most) & np.isfinite(b)
    same = kinds(found) == kinds(right)
    return np.where(same, near | (kinds(right) != 0), end)


@pytest.mark.parametrize("slopes", [False, True], ids=["value", "slope"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_gives_what_the_definition_gives(name, dtype, slopes):
    kind, close = DTYPES[dtype]
    roots, leaves, given = roots_of(name, kind, slopes)
    if not roots:
        return
    with np.errstate(all="ignore"):
        wanted = interpret(roots, dict(zip(leaves, given, strict=True)))
    made = build(Graph(leaves, roots)).run(list(map(DeviceBuffer.of, given)))

    for k, (node, buffer, right) in enumerate(zip(roots, made, wanted, strict=True)):
        found = buffer.numpy(node.dtype.numpy, node.shape)
        if found.dtype == bool:
            np.testing.assert_array_equal(found, right)
            continue
        wrong = ~alike(found, right, kind, close)
        a, b = found.astype(float), right.astype(float)
        told = [(*(float(x[i]) for x in given), a[i], b[i]) for i in np.flatnonzero(wrong)]
        assert not told, f"{name}, {k}: arguments, kernel, definition: {told[:12]} and {len(told)}"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_neighbours_of_narrow_floats_are_those_of_their_own_dtype(dtype):
    kind = DTYPES[dtype][0]
    every = np.arange(2**16, dtype=np.uint16).view(kind)
    for end in (np.inf, -np.inf, 0.0, 1.0, np.nan):
        towards = np.full_like(every, end)
        with np.errstate(all="ignore"):
            wanted = np.nextafter(every, towards)
        found = gn.nextafter(gn.from_numpy(every), gn.from_numpy(towards))
        np.testing.assert_array_equal(found.float().numpy(), wanted.astype(np.float32))


def test_places_beside_nan_are_places():
    nan = gn.tensor(float("nan"))
    rows = gn.tensor([[float("nan")] * 2, [1.0, float("nan")]])

    assert (nan.cummin(0)[1].item(), nan.cummax(0)[1].item()) == (0, 0)
    assert [x.tolist() for x in rows.mode()[1:]] == [[0, 0]]
    assert rows.mode()[0].isnan().tolist() == [True, False]
