"""Indices of loop kernels: divided, guarded, along rows of every length."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.loops import emit_loops
from gnomon.codegen.row_passes import GROUP
from gnomon.codegen.shares import SHARES
from gnomon.dtypes import DType, bfloat16, bool_, float32, float64, int64, uint8
from gnomon.ops.primitives import reshape
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import pad, permute, slice_
from tests.schedule.kernels_of import check, kernels, leaf

CHUNK = SHARES["contiguous"].chunk


@pytest.mark.parametrize("dtype", [bfloat16, float32, float64, int64, uint8, bool_])
@pytest.mark.parametrize("n", [3, 16, 37, 64, 150])
def test_guarded_elements_from_anywhere(dtype: DType, n: int, rng: np.random.Generator):
    x = leaf(n, 5, dtype=dtype)

    check(pad(permute(x, (1, 0)), (1, 2), (2, 3), 1.0), rng)


@pytest.mark.parametrize("shape", [(7, 6), (5, 30), (2, 75), (3, 1100)])
def test_rows_that_are_cut_elsewhere_after_a_pad(shape: tuple[int, int], rng: np.random.Generator):
    x = pad(leaf(*shape), (0, 3), (0, 1), 2.0)
    y = reshape(pad(reshape(x, (x.size // 2, 2)), (1, 0), (0, 0)), (2, x.size // 2 + 1))

    check(slice_(y, ((0, 2, 1), (0, y.shape[1], 2))) + 1.0, rng)


def test_an_element_behind_a_guard_that_never_holds_need_not_exist(rng: np.random.Generator):
    x = leaf(0, 40)

    check(pad(permute(x, (1, 0)), (0, 3), (0, 2), 5.0) * 2.0, rng)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 48, 63, 65, 100, CHUNK + 16, CHUNK + 7, 2 * CHUNK])
@pytest.mark.parametrize("long", [False, True])
def test_rows_of_every_length(n: int, long: bool, rng: np.random.Generator):
    x = leaf(3, n)

    check(exp(x * 0.25) if long else slice_(x, ((2, -1, -1), (0, n, 1))) + 1.0, rng)


def test_a_short_row_has_no_vectors_that_never_run():
    x = leaf(7, 20)

    (kernel,) = kernels(slice_(x, ((6, -1, -1), (0, 20, 1))) * 3.0)

    assert kernel.inner.params["size"] == 20 < 16 * GROUP
    assert emit_loops(kernel).text.count("fmul") == 2


def test_what_does_not_vary_along_a_row_is_added_up_once():
    x = leaf(6, 8, 50)

    (kernel,) = kernels(slice_(x, ((0, 6, 2), (1, 7, 3), (0, 50, 2))) * 3.0)

    assert "mul <16 x i64>" in emit_loops(kernel).text
    assert emit_loops(kernel).text.count("mul <16 x i64>") == 2
