"""Products of bfloat16, float16 and bytes: their own order to the bit, or exact."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from gnomon.codegen.kernels.product import Axis, MatmulSpec
from gnomon.codegen.machine import AVX2, AVX512, NEON, Machine
from tests.codegen.kernels.exact import product, same_bits
from tests.codegen.kernels.operands import KINDS, compile_product, guarded, plain
from tests.oracle.folds import sum_of_products

HERE = [AVX2, *(replace(machine, instructions=("mxcsr",)) for machine in (AVX512, NEON))]
"""Every tile, with the register that this machine has."""
SIZES = [(1, 1, 1, 1), (7, 19, 96, 4), (3, 5, 7, 1), (4, 9, 1283, 1), (3, 20, 1030, 2)]


def laid(kind: str, matrix: np.ndarray) -> np.ndarray:
    """A matrix as it lies in memory, transposed or not, before a page without access."""
    return guarded(np.ascontiguousarray(matrix.T if kind == "T" else matrix))


def run(
    kind: str, a: np.ndarray, b: np.ndarray, spec: MatmulSpec, machine: Machine = AVX2
) -> np.ndarray:
    """The product of two matrices."""
    sums = np.int32 if spec.sums == "i32" else np.float32
    c = guarded(np.full((a.shape[0], b.shape[1]), 77, sums))
    compile_product(spec, machine)([c, laid(kind[0], a), laid(kind[1], b)], 2)
    return c


def in_pairs(a: np.ndarray, b: np.ndarray, leaves: int) -> np.ndarray:
    """The order of bfloat16's products."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    return sum_of_products(a.T[:, :, None], b[:, None, :], (leaves,), paired=True)


@pytest.mark.parametrize("machine", HERE, ids=lambda machine: machine.name)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_bfloats_go_in_pairs_with_the_odd_one_first(rng, kind, size, machine):
    m, n, k, leaves = size
    a, b = (rng.normal(size=shape).astype(ml_dtypes.bfloat16) for shape in ((m, k), (k, n)))

    c = run(kind, a, b, plain(kind, m, n, k, leaves, "bfloat"), machine)

    assert same_bits(c, in_pairs(a, b, leaves))


def test_the_order_of_pairs_is_another_than_that_of_a_chain(rng):
    a, b = (rng.normal(size=(40, 40)).astype(ml_dtypes.bfloat16) for _ in range(2))

    c = run("NN", a, b, plain("NN", 40, 40, 40, 1, "bfloat"))

    assert not same_bits(c, product(a.astype("f4"), b.T.astype("f4"), [(40, 1)]))


def test_denormals_are_zeros_inside_a_leaf_and_numbers_between_leaves(rng):
    m, n, k = 40, 33, 16
    a, b = (rng.normal(size=shape) * 2e-19 for shape in ((m, k), (k, n)))
    a, b = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)

    alone, leaves = (run("NN", a, b, plain("NN", m, n, k, x, "bfloat")) for x in (1, 8))

    tiny = np.float32(2.0**-126)
    assert np.any(alone == 0)
    assert not np.any((alone != 0) & (np.abs(alone) < tiny))
    assert np.any((leaves != 0) & (np.abs(leaves) < tiny))
    assert same_bits(alone, in_pairs(a, b, 1))
    assert same_bits(leaves, in_pairs(a, b, 8))


def test_a_pair_cut_short_keeps_the_sign_of_zero(rng):
    a, b = (np.full(shape, x, ml_dtypes.bfloat16) for shape, x in (((3, 5), -0.0), ((5, 4), 1)))

    c = run("NN", a, b, plain("NN", 3, 4, 5, 1, "bfloat"))

    assert np.all(np.signbit(c))


def test_nan_and_infinity_stay_in_their_row_and_column(rng):
    a, b = (rng.normal(size=shape).astype(ml_dtypes.bfloat16) for shape in ((9, 33), (33, 21)))
    a[8, 32], b[4, 20] = np.nan, np.inf

    c = run("NT", a, b, plain("NT", 9, 21, 33, 1, "bfloat"))

    assert np.isnan(c[8]).all()
    assert np.isinf(c[:8, 20]).all()
    assert np.isfinite(c[:8, :20]).all()


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_float16_is_a_chain_in_float32(rng, kind, size):
    m, n, k, leaves = size
    a, b = (rng.normal(size=shape).astype(np.float16) for shape in ((m, k), (k, n)))

    c = run(kind, a, b, plain(kind, m, n, k, leaves, "half"))

    assert same_bits(c, product(a.astype("f4"), b.T.astype("f4"), [(k, leaves)]))


@pytest.mark.share(2)
@pytest.mark.parametrize("machine", [AVX2, *HERE], ids=lambda x: "-".join(x.instructions))
@pytest.mark.parametrize("scalar", ["i8", "u8"])
@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_multiplied_exactly(rng, kind, scalar, machine):
    low, high = (-128, 128) if scalar == "i8" else (0, 256)
    for m, n, k in ((1, 1, 1), (7, 19, 96), (3, 5, 7), (4, 9, 2051), (40, 70, 65)):
        a, b = (
            rng.integers(low, high, shape).astype(scalar[0] + "1") for shape in ((m, k), (k, n))
        )
        a[0], b[:, 0] = low, low

        c = run(kind, a, b, plain(kind, m, n, k, 1, scalar), machine)

        assert np.array_equal(c, a.astype(np.int64) @ b.astype(np.int64))


def test_pairs_are_found_in_every_run_of_a_window(rng):
    # x[h, w, c] and f[o, i, j, c]: rows (h, w), steps (i, j, c) with c in pairs
    x = rng.integers(-128, 128, (6, 7, 4)).astype(np.int8)
    f = rng.integers(-128, 128, (5, 3, 3, 4)).astype(np.int8)
    spec = MatmulSpec(
        "i8",
        (),
        (Axis(4, a=28, c=25), Axis(5, a=4, c=5)),
        (Axis(5, b=36, c=1),),
        (Axis(3, a=28, b=12), Axis(3, a=4, b=4), Axis(4, a=1, b=1)),
    )
    y = np.zeros((4, 5, 5), np.int32)

    compile_product(spec)([y, x, f])

    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(0, 1)).astype(np.int64)
    assert np.array_equal(y, np.einsum("hwcij,oijc->hwo", windows, f.astype(np.int64)))
