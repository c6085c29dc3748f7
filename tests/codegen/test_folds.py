"""Folds of vectors: machine code against the order that the oracle is told by."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import Emitter, LLVMModule, vector
from gnomon.codegen.folds import Folds
from gnomon.dtypes import DType, float32, float64, int64
from gnomon.ir.node import Arena, Node
from gnomon.ir.symbolic import loop_range
from tests.codegen.kernels.jit import Kernel
from tests.oracle.folds import beginning, lanes, tree

KINDS = {float32: "float", float64: "double", int64: "i64"}
MONOIDS = ("add", "mul", "max", "min")


def fold_of(monoid: str, dtype: DType) -> Node:
    """A fold over 64 elements in lanes."""
    arena = Arena()
    body = arena.node("const", (), value=1, dtype=dtype)
    names = {"monoid": monoid, "dtype": dtype, "leaves": 1, "lanes": True}
    return arena.node("fold", (loop_range(arena, 64, "k"), body), **names)


def folded(monoid: str, dtype: DType, x: np.ndarray, write) -> np.ndarray:
    """What a piece of code makes of rows of sixteen, in every lane."""
    module, kind = LLVMModule(), vector(KINDS[dtype])
    parameters = [("ptr", "buffers"), ("i64", "thread"), ("i64", "threads"), ("ptr", "scratch")]
    e: Emitter = module.function("made", parameters)
    made, given = (e.load(e.offset("%buffers", 8 * k), "ptr", 8) for k in range(2))
    rows = [e.load(e.offset(given, k * 16 * dtype.itemsize), kind, 4) for k in range(len(x) // 16)]
    e.store(write(Folds(e), fold_of(monoid, dtype), rows), made, kind, 4)
    e.ret()
    result = np.zeros(16, x.dtype)
    Kernel(module.text(), "made", 64)([result, x])
    return result


def numbers(rng, count: int, dtype: DType) -> np.ndarray:
    """Numbers whose sum depends on its order."""
    return (rng.standard_normal(count) * 10.0 ** rng.integers(0, 6, count)).astype(dtype.numpy)


@pytest.mark.parametrize("dtype", KINDS, ids=lambda d: d.name)
@pytest.mark.parametrize("monoid", MONOIDS)
def test_lanes_are_folded_by_halving(monoid, dtype, rng):
    x = numbers(rng, 64, dtype)

    found = folded(monoid, dtype, x, lambda folds, fold, rows: folds.lanes(fold, rows))

    expected = lanes(monoid, list(x), beginning(monoid, dtype))
    assert found.tobytes() == np.full(16, expected, x.dtype).tobytes()


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("dtype", KINDS, ids=lambda d: d.name)
@pytest.mark.parametrize("monoid", MONOIDS)
def test_lanes_of_several_leaves_are_folded_together(monoid, dtype, count, rng):
    x = numbers(rng, 64 * count, dtype)

    def write(folds: Folds, fold: Node, rows: list[str]) -> str:
        leaves = [rows[k : k + 4] for k in range(0, len(rows), 4)]
        return folds.whole(fold, [folds.sixteen(fold, leaf) for leaf in leaves])

    found = folded(monoid, dtype, x, write)

    leaves = [lanes(monoid, list(leaf), beginning(monoid, dtype)) for leaf in np.split(x, count)]
    assert found.tobytes() == np.full(16, tree(monoid, leaves), x.dtype).tobytes()


@pytest.mark.parametrize("monoid", MONOIDS)
def test_leaves_are_joined_by_a_perfect_tree(monoid, rng):
    x = numbers(rng, 8 * 16, float32)

    found = folded(monoid, float32, x, lambda folds, fold, rows: folds.tree(fold, rows))

    assert found.tobytes() == tree(monoid, list(x.reshape(8, 16))).tobytes()


def test_a_lane_that_is_off_changes_nothing(rng):
    x = numbers(rng, 32, float32)
    on = "<" + ", ".join(f"i1 {'true' if k < 5 else 'false'}" for k in range(16)) + ">"

    found = folded("add", float32, x, lambda folds, fold, rows: folds.accumulate(fold, *rows, on))

    assert np.array_equal(found[:5], x[:5] + x[16:21])
    assert np.array_equal(found[5:], x[5:16])
