"""Folds of rows that stand apart: the bits of a fold along an axis, for any number of elements."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gnomon import dtypes
from gnomon.codegen.kernels.fold_rows import RowsSpec, fold_rows_code
from gnomon.compiler.build import build
from gnomon.dtypes import DType
from gnomon.ir.node import Arena, Graph
from gnomon.passes.lower_collectives import fold_slices, leaves_of
from gnomon.runtime import cpu
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.comm.base import FOLDING

SIZES = (1, 2, 15, 16, 17, 100)
DTYPES = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "uint8")


def folded(rows: list[np.ndarray], monoid: str, dtype: DType) -> np.ndarray:
    """Rows folded by the function, each where it lies; what stands behind the result stays."""
    x = Arena().input((len(rows), rows[0].size), dtype)
    code = fold_rows_code(RowsSpec(monoid, dtype, len(rows), leaves_of(x, monoid, ordered=True)))
    loaded = cpu.load({code.symbol: code.text})  # the code is there while this is held
    fold = FOLDING(loaded[code.symbol])
    out = np.zeros(rows[0].size + 8, rows[0].dtype)
    places = (ctypes.c_void_p * len(rows))(*(row.ctypes.data for row in rows))
    fold(out.ctypes.data, ctypes.addressof(places), rows[0].nbytes)
    assert not out[rows[0].size :].any()
    return out[: rows[0].size]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("monoid", ["add", "mul", "max", "min"])
def test_rows_apart_have_the_bits_of_rows_in_one_array(monoid: str, dtype: str, rng):
    kind = getattr(dtypes, dtype)
    for count in (2, 3, 4, 6):
        for size in SIZES:
            rows = [(9 * rng.standard_normal(size)).astype(kind.numpy) for _ in range(count)]
            whole = np.stack(rows)
            x = Arena().input(whole.shape, kind, "x")
            (made,) = build(Graph([x], [fold_slices(x, monoid)])).run([DeviceBuffer.of(whole)])

            found = folded(rows, monoid, kind)

            assert found.tobytes() == made.numpy(kind.numpy)[:size].tobytes()


def test_nan_and_zeros_of_either_sign_come_out_as_in_one_array():
    rows = [np.array(row, np.float32) for row in ([np.nan, -0.0, -0.0], [1.0, -0.0, 0.0])]

    found = folded(rows, "add", dtypes.float32)

    assert np.isnan(found[0])
    assert list(np.signbit(found[1:])) == [True, False]


def test_truth_is_folded():
    rows = [np.array(row) for row in ([True, False, True], [True, True, False])]

    assert list(folded(rows, "and", dtypes.bool_)) == [True, False, False]
    assert list(folded(rows, "or", dtypes.bool_)) == [True, True, True]
