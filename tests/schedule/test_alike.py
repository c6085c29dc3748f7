"""Parts of a join that are alike are one kernel, whose rows read buffers of their own."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.loops import emit_loops
from gnomon.codegen.plan_loops import overwritable
from gnomon.dtypes import DType, bfloat16, bool_, float32, int64
from gnomon.ir.node import Arena, Node
from gnomon.ops.joining import join
from gnomon.ops.primitives import reduce, reshape
from gnomon.ops.view_primitives import pad, permute, slice_
from tests.schedule.kernels_of import check, kernels


def leaves(count: int, *shape: int, dtype: DType = float32) -> list[Node]:
    """Inputs of one arena."""
    arena = Arena()
    return [arena.input(shape, dtype) for _ in range(count)]


@pytest.mark.parametrize(
    ("count", "dtype"), [(2, float32), (3, bfloat16), (9, int64), (7, bool_), (64, float32)]
)
@pytest.mark.parametrize(("shape", "axis"), [((3, 1, 40), 1), ((1, 17), 0), ((2, 5, 4), 1)])
def test_equal_parts_are_one_kernel(
    count: int, shape: tuple[int, ...], axis: int, dtype: DType, rng: np.random.Generator
):
    joined = join(leaves(count, *shape, dtype=dtype), axis)

    (kernel,) = kernels(joined)

    assert kernel.rows[0].params == {"size": count, "name": "part"}
    assert not overwritable(kernel)
    check(joined, rng)


def test_the_text_does_not_grow_with_the_parts():
    few, many = (emit_loops(kernels(join(leaves(n, 3, 1, 40), 1))[0]).text for n in (8, 80))

    assert len(many) < len(few) + 100


def test_a_first_part_of_its_own_is_a_kernel_of_its_own(rng: np.random.Generator):
    first, *others = leaves(12, 3, 2, 20)
    joined = join([first, *(x * 2.0 for x in others)], 1)

    assert len(kernels(joined)) == 2
    check(joined, rng)


def test_slices_of_one_tensor_in_steps(rng: np.random.Generator):
    (x,) = leaves(1, 4, 11, 24)
    slices = [slice_(x, ((0, 4, 1), (k, k + 1, 1), (0, 24, 1))) for k in range(11)]
    turned = join([s * 2.0 for s in reversed(slices)], 1)

    (kernel,) = kernels(turned)

    assert len(kernel.dtypes) == 2
    check(turned, rng)


def test_parts_that_read_one_buffer_in_turn_stay_apart_from_those_that_do_not(
    rng: np.random.Generator,
):
    xs = leaves(6, 3, 1, 32)
    joined = join([xs[k] + xs[k - 1] * 3.0 for k in range(6)], 1)

    check(joined, rng)


def test_parts_that_are_padded_folded_and_turned(rng: np.random.Generator):
    xs = leaves(7, 3, 20, 5)
    folded = join([reshape(reduce("add", x, (1,)), (3, 1, 5)) for x in xs], 1)
    wide = join([pad(permute(x, (0, 2, 1)), (0, 1, 0), (0, 0, 3), 4.0) for x in xs], 1)

    check(folded, rng)
    check(wide, rng)


def test_only_a_step_that_is_always_the_same_is_followed(rng: np.random.Generator):
    (x,) = leaves(1, 3, 40, 24)
    starts = [0, 1, 4, 9, 16, 25, 36]
    joined = join([slice_(x, ((0, 3, 1), (k, k + 1, 1), (0, 24, 1))) * 2.0 for k in starts], 1)

    check(joined, rng)
