"""The stack program says the same order as the recursive definition."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.kernels.order import chunk_length, combine_counts, depths
from tests.codegen.kernels.exact import by_definition, fma_double, fma_single, product, same_bits

pytestmark = pytest.mark.unit

NESTS = [[(8, 4)], [(5, 1), (6, 2)], [(4, 4), (8, 2)], [(6, 2), (3, 1), (4, 4)], [(7, 1)]]


@pytest.mark.parametrize("letters", NESTS, ids=str)
def test_the_stack_program_is_the_recursive_definition(rng, letters):
    steps = int(np.prod([size for size, _ in letters]))
    a, b = rng.standard_normal((2, 3, steps)).astype(np.float32)

    assert same_bits(product(a, b, letters), by_definition(a, b, letters))


@pytest.mark.parametrize("letters", NESTS, ids=str)
def test_chunks_cover_all_steps_and_leave_one_sum(letters):
    counts = combine_counts(letters)

    assert len(counts) * chunk_length(letters) == np.prod([size for size, _ in letters])
    assert depths(counts)[-1] == 1
    assert min(depths(counts)[1:]) == 1


def test_a_sum_of_nothing_has_no_chunks():
    assert combine_counts([(4, 2), (0, 1)]) == []
    assert combine_counts([]) == [0]


def test_the_fma_of_the_oracle_rounds_once():
    tiny = np.float32(2.0**-24)
    one, next_up = np.float32(1), np.float32(1 + 2.0**-23)

    # 1 + 2^-24 is a tie; a product a little larger breaks it upwards, exactly 2^-24 does not
    assert fma_single(tiny, one, one) == one
    assert fma_single(tiny, next_up, one) == next_up
    assert fma_double(np.float64(0.1), np.float64(10), np.float64(-1)) != 0.1 * 10 - 1
