"""The quick kernels for cards, as far as none is needed: orders, texts, sizes, the native loop."""

from __future__ import annotations

import ctypes
import re

import llvmlite.binding as llvm
import numpy as np
import pytest

from benchmarks.cuda import bench, float_product, launches, moves, products, rows, tensor_product
from benchmarks.cuda.warpgroup_product import GroupShape
from gnomon.ops.canonical import CONTRACTED, leaves

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()

LARGEST = 232448
"""Bytes of shared memory that a block of a Hopper card may have."""


def every_shape():
    """All tilings of the stages."""
    for table in (products.LARGE, products.GROUPED, products.PAIRED, products.FLOATS):
        for _, shapes in table.values():
            yield from shapes.values()
    for kind in ("bf16", "f16"):
        for sizes in products.WHOLE + products.EDGES:
            yield from (shape for _, shape in products.small_groups(sizes, kind))


def test_floats_have_the_leaves_of_the_cpu():
    for steps in [*range(1, 700), 1024, 4096, 8192, 11008]:
        assert float_product.leaves_of(steps) == leaves(steps, CONTRACTED)


@pytest.mark.parametrize(("steps", "count"), [(1, 1), (1024, 2), (1040, 1), (4096, 8), (65536, 8)])
def test_leaves_of_tensor_cores_are_whole_slabs(steps, count):
    assert tensor_product.leaves_of(steps) == count


def test_shapes_fit_a_multiprocessor():
    for shape in every_shape():
        assert shape.shared <= LARGEST, shape


def test_a_slab_has_each_tile_once_for_sixteen_steps():
    text = tensor_product.Shape(128, 128, 64, (2, 4), 3, "rss").text()

    # a warp has 64 rows and 32 columns: 4 by 4 tiles of 16 by 8
    assert text.count("mma.sync") == 4 * 4 * 4
    assert ".target sm_80" in text


def test_a_slab_of_floats_has_a_multiply_add_for_each_sum_and_step():
    text = float_product.FloatShape().text()

    assert text.count("fma.rn.f32") == 64 * 16
    assert text.count("mov.f32") >= 64
    assert "0f80000000" in text


def test_warpgroups_share_tiles_in_pairs_where_they_are_to():
    alone, paired = (GroupShape(128, 128, pair=pair).text() for pair in (False, True))

    assert ".target sm_90a" in alone
    assert "multicast" not in alone
    assert ".reqnctapercluster 2, 1, 1" in paired
    assert paired.count("multicast") == 1
    # addresses of a pair's second block have more bits than a descriptor holds
    assert ", 16383;" in alone


def test_the_model_of_a_product_is_exact_where_all_sums_are():
    r = np.random.default_rng(0)
    a, b = (r.integers(-8, 8, shape).astype(np.float32) for shape in ((5, 70), (70, 9)))
    bits = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)]

    found = bench.expected(*bits, 2, "bf16")

    assert (found == a @ b).all()


def test_factors_lie_as_they_are_asked_for():
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)

    left, right = bench.laid(a, b, (False, True))

    assert (left == a.T).all()
    assert (right == b.T).all()


@pytest.mark.parametrize("text", [rows.softmax(4096), rows.layer_norm(4096), rows.silu()])
def test_rows_round_as_the_cpu(text):
    assert not re.search(r"\.approx|\.ftz|\b(?:add|sub|mul)\.f32", text)
    assert "ld.global" in text
    assert not re.search(r"\bld\.f32|\bst\.f32|ld\.v4|st\.v4", text)


def test_sums_of_columns_need_chains_that_threads_share():
    assert moves.sum_of_columns(4096, 64).count("ld.global.nc.v4.f32") == 16
    with pytest.raises(AssertionError, match="threads share no chains"):
        moves.sum_of_columns(100, 64)


def test_the_native_loop_starts_each_row_of_its_table():
    seen = []
    kinds = [ctypes.c_void_p, *[ctypes.c_uint32] * 7, *[ctypes.c_void_p] * 3]

    def launch(*given: int) -> int:
        seen.append(given)
        return 0

    called = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(launch)
    table = (launches.Row * 2)(launches.Row(1, 7, 8, 9, 0, 64), launches.Row(2, 5, 6, 0, 0, 128))
    engine = launches.compiled(launches.LOOP)
    start = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p
    )(engine.get_function_address("start"))

    code = start(ctypes.addressof(table), 2, ctypes.cast(called, ctypes.c_void_p), None)

    assert code == 0
    assert [x[:9] for x in seen] == [
        (1, 7, 1, 1, 8, 1, 1, 9, None),
        (2, 5, 1, 1, 6, 1, 1, 0, None),
    ]
    assert [x[9] for x in seen] == [64, 128]
