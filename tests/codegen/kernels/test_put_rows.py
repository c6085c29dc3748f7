"""Slices put at positions: in place or into a copy, through strides, for any number of threads."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.put_rows import PutRowsSpec, emit_put_rows
from gnomon.codegen.kernels.strides import merge
from gnomon.dtypes import int32, int64
from tests.codegen.kernels.jit import Kernel
from tests.codegen.kernels.operands import guarded

CASES = [
    ((2, 3, 7, 5), 2, [4]),
    ((3, 5, 33), 1, [4, 0, 4, 2]),
    ((70,), 0, [0, 69, 3, 3]),
    ((6, 5), 0, [5]),
    ((2, 9, 4), 2, [1, 1, 0]),
    ((3, 2, 9, 4), 2, [[1, 8], [0, 0], [5, 4]]),
    ((2, 3, 5), 2, [[[1, 4, 1], [0, 0, 2], [4, 3, 2]], [[0, 1, 2], [3, 4, 0], [2, 2, 2]]]),
]
"""(shape, axis, positions); several vectors of positions: each for a place of the first axes"""
ITEMS = [np.uint8, np.int16, np.float32, np.float64]


class Case:
    """Values that lie inside a larger array, what is expected, and the kernel."""

    def __init__(self, rng, shape, axis, index, dtype=np.float32, positions=int64):
        self.x = (100 * rng.random(shape)).astype(dtype)
        self.index = np.array(index, positions.numpy)
        lead, count = self.index.ndim - 1, self.index.shape[-1]
        sizes = [count if k == axis else n for k, n in enumerate(shape)]
        # rows twice as far apart as they are long, from the second element on
        self.home = (100 * rng.random((*sizes[:-1], 2 * sizes[-1] + 1))).astype(dtype)
        values = self.home[..., 1 : sizes[-1] + 1]
        self.expected = self.x.copy()
        for at in np.ndindex(self.index.shape[:-1]):
            here, new = (np.moveaxis(x[at], axis - lead, 0) for x in (self.expected, values))
            for k, place in enumerate(self.index[at]):
                here[place] = new[k]
        item = self.x.itemsize
        axes = [(n, step // item) for n, step in zip(sizes, values.strides, strict=True)]
        self.spec = PutRowsSpec(
            f"i{8 * item}",
            positions,
            shape[axis],
            count,
            merge(axes[:axis]),
            axes[axis][1],
            merge(axes[axis + 1 :]),
            1,
            prod(shape[lead:axis]) if lead else 0,
        )

    def run(self, out, x, threads):
        """Run; gives what was reported."""
        module, report = LLVMModule(), np.zeros(1, np.int64)
        emit_put_rows(module, "put", self.spec)
        kernel = Kernel(module.text(), "put", 0)
        kernel([out, x, self.index, self.home, report, 4], threads)
        return report[0]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_slices_go_into_a_copy(rng, case, threads):
    made = Case(rng, *case)
    found, before = guarded(np.zeros_like(made.x)), made.x.copy()

    assert made.run(found, guarded(made.x), threads) == 0

    assert np.array_equal(found, made.expected)
    assert np.array_equal(made.x, before)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ITEMS, ids=lambda x: x.__name__)
def test_slices_go_where_the_operand_lies(rng, dtype, threads):
    made = Case(rng, *CASES[1], dtype, int32)
    lying = guarded(made.x)

    assert made.run(lying, lying, threads) == 0

    assert np.array_equal(lying, made.expected)


@pytest.mark.parametrize("wrong", [7, -1])
def test_a_position_outside_is_reported_and_nothing_is_written_for_it(rng, wrong):
    made = Case(rng, *CASES[0])
    made.index[0] = wrong
    lying = guarded(made.x)

    assert made.run(lying, lying, 2) == 5

    assert np.array_equal(lying, made.x)
