"""The sums of parts are the sum of the whole, and every small change is seen."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from gnomon.distributed.checkpoint.parts import runs
from gnomon.distributed.checkpoint.sums import MODULUS, element_sum

pytestmark = pytest.mark.unit


def whole_sum(array):
    """The sum of a whole array."""
    return element_sum(array, runs(array.shape, (0,) * array.ndim, array.shape))


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.float16, ml_dtypes.bfloat16, np.float32, np.int64, np.float64]
)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_add_up_to_the_whole(dtype, axis, rng):
    array = (rng.standard_normal((6, 7, 5)) * 9).astype(dtype)
    total = 0
    for low, high in ((0, 2), (2, 3), (3, array.shape[axis])):
        offsets = [low if k == axis else 0 for k in range(3)]
        part = array.take(range(low, high), axis)
        total += element_sum(part, runs(array.shape, offsets, part.shape))

    assert total % MODULUS == whole_sum(array)


def test_blocks_do_not_change_the_sum(rng):
    array = rng.standard_normal(200_000).astype(np.float32)
    words = array.view(np.uint32).astype(object)

    wanted = sum(int(w) * (2 * k + 1) for k, w in enumerate(words)) % MODULUS
    assert whole_sum(array) == wanted
    assert whole_sum(array.reshape(400, 500)) == wanted


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.float64])
def test_one_flipped_bit_two_of_them_and_a_swap_are_seen(dtype, rng):
    array = rng.integers(0, 255, 32).astype(np.uint8).view(dtype)
    wanted, bits = whole_sum(array), array.nbytes * 8
    raw = array.view(np.uint8)
    for first in range(bits):
        raw[first // 8] ^= 1 << first % 8
        assert whole_sum(array) != wanted
        for second in range(first + 1, bits, 3):
            raw[second // 8] ^= 1 << second % 8
            assert whole_sum(array) != wanted
            raw[second // 8] ^= 1 << second % 8
        raw[first // 8] ^= 1 << first % 8
    for i in range(len(array)):
        for j in range(i):
            other = array.copy()
            other[[i, j]] = other[[j, i]]
            assert whole_sum(other) != wanted or array[i].tobytes() == array[j].tobytes()
