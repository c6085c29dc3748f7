"""Matrices of a warp: what lanes hold of them, by PTX ISA 8.0."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.cuda.tensor_core import cases, fragments, model, numbers, tiles_of
from tests.cuda.matrices import mma, mma_kind, parts_of_lines


@pytest.mark.parametrize("kind", ["bf16", "f16"])
def test_tiles_are_multiplied_by_the_model(kind):
    for given in cases(kind, 3).values():
        a, b, c = fragments(*given)
        wanted = model(numbers(given[0], kind), numbers(given[1], kind), given[2], kind)

        made = tiles_of(mma(kind, a.view(np.uint32), b.view(np.uint32), c))

        assert np.array_equal(made, wanted, equal_nan=True)


@pytest.mark.parametrize("turned", [False, True])
def test_lanes_have_two_values_of_a_line(turned):
    matrices = np.arange(4 * 8 * 8, dtype=np.uint16).reshape(4, 8, 8)
    lines = 16 * np.arange(32, dtype=np.uint64)[None]
    seen = matrices.swapaxes(1, 2) if turned else matrices

    for k in range(4):
        found = parts_of_lines(lines, k, turned, lambda at: matrices.ravel()[at // 2])

        for lane in range(32):
            one, two = seen[k, lane // 4, 2 * (lane % 4) :][:2]
            assert found[0, lane] == one | np.uint32(two) << np.uint32(16)


def test_other_shapes_are_refused():
    assert (
        mma_kind(("sync", "aligned", "m16n8k16", "row", "col", "f32", "f16", "f16", "f32")) == "f16"
    )
    with pytest.raises(AssertionError, match="ptx: mma"):
        mma_kind(("sync", "aligned", "m16n8k8", "row", "col", "f32", "f16", "f16", "f32"))
